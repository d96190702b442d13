package settings

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Value is the value of an option: a pflag.Value that a file can set too.
type Value interface {
	Set(text string) error
	String() string
	Type() string
	// decode sets the value from a file. It adds problems to the field.
	decode(f field)
}

// assign sets a value that files write as on the command line.
func assign(f field, set func(string) error) {
	if text, ok := f.scalar(); ok {
		if err := set(text); err != nil {
			f.fail("%v", err)
		}
	}
}

// scalar is a value that files write as on the command line.
type scalar[T any] struct {
	to     *T
	kind   string
	parse  func(text string) (T, error)
	format func(T) string
}

func (v scalar[T]) Set(text string) (err error) {
	*v.to, err = v.parse(text)
	return err
}
func (v scalar[T]) String() string { return v.format(*v.to) }
func (v scalar[T]) Type() string   { return v.kind }
func (v scalar[T]) decode(f field) { assign(f, v.Set) }

func textValue(to *string) Value {
	same := func(text string) string { return text }
	return scalar[string]{to, "string", func(text string) (string, error) { return text, nil }, same}
}

// anyInt is the range of an integer without limits of its own.
const anyInt = math.MaxInt32

func intValue(to *int, low, high int) Value {
	return scalar[int]{to, "int", func(text string) (int, error) { return parseInt(text, low, high) }, strconv.Itoa}
}

// optionalInt is a number from 1 that is 0 when it is not set.
func optionalInt(to *int) Value {
	return scalar[int]{to, "int", func(text string) (int, error) { return parseInt(text, 1, anyInt) }, func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}}
}

func int64Value(to *int64) Value {
	return scalar[int64]{to, "int", parseInt64, func(n int64) string { return strconv.FormatInt(n, 10) }}
}

func parseInt64(text string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not an integer", shorten(text))
	}
	return n, nil
}

func parseInt(text string, low, high int) (int, error) {
	n, err := parseInt64(text)
	switch {
	case err != nil:
		return 0, err
	case n < int64(low) && high == anyInt:
		return 0, fmt.Errorf("%d is less than %d", n, low)
	case n < int64(low) || n > int64(high):
		return 0, fmt.Errorf("%d is not in the range %d to %d", n, low, high)
	}
	return int(n), nil
}

// floatValue is a number greater than 0.
func floatValue(to *float64) Value {
	return scalar[float64]{to, "float", func(text string) (float64, error) {
		x, err := parseFloat(text)
		if err == nil && x <= 0 {
			err = fmt.Errorf("%s is not greater than 0", text)
		}
		return x, err
	}, formatFloat}
}

// formatFloat returns a number, or nothing for 0.
func formatFloat(x float64) string {
	if x == 0 {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// parseFloat reads a finite number.
func parseFloat(text string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("could not convert string to float: %q", shorten(text))
	}
	return x, nil
}

// longest is the limit of times without a limit of their own.
const longest = 100 * 365 * 24 * time.Hour

// durationValue is a number of seconds, or a time with a unit such as 20ms.
func durationValue(to *time.Duration, low, high time.Duration) Value {
	return scalar[time.Duration]{
		to, "seconds",
		func(text string) (time.Duration, error) { return parseDuration(text, low, high) },
		func(d time.Duration) string { return formatFloat(d.Seconds()) },
	}
}

func parseDuration(text string, low, high time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		seconds, err := parseFloat(text)
		if err != nil {
			return 0, fmt.Errorf("%q is not a number of seconds, or a time such as 500ms or 2m", shorten(text))
		}
		if math.Abs(seconds) > math.MaxInt32 {
			return 0, fmt.Errorf("%s seconds is too long", text)
		}
		d = time.Duration(seconds * float64(time.Second))
	}
	switch {
	case d < low && high > longest/2:
		return 0, fmt.Errorf("%s is less than %s", text, low)
	case d < low || d > high:
		return 0, fmt.Errorf("%s is not in the range %s to %s", text, low, high)
	}
	return d, nil
}

func boolValue(to *bool) Value { return scalar[bool]{to, "bool", parseBool, strconv.FormatBool} }

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", shorten(text))
}

// choiceValue is one of several names. An alias stands for one of them.
type choiceValue struct {
	to      *string
	choices []string
	aliases map[string]string
}

func (v choiceValue) Set(text string) error {
	if !v.choose(text) {
		return fmt.Errorf("invalid choice: '%s' (choose from '%s')", shorten(text), joinQuoted(v.choices))
	}
	return nil
}

// joinQuoted joins names that the caller puts into single quotes.
func joinQuoted(names []string) string { return strings.Join(names, "', '") }

func (v choiceValue) choose(text string) bool {
	if name, ok := v.aliases[text]; ok {
		*v.to = name
		return true
	}
	for _, c := range v.choices {
		if c == text {
			*v.to = text
			return true
		}
	}
	return false
}
func (v choiceValue) String() string { return *v.to }
func (v choiceValue) Type() string   { return strings.Join(v.choices, "|") }
func (v choiceValue) decode(f field) {
	if text, ok := f.scalar(); ok && !v.choose(text) {
		f.fail("Value %q for field %q is not acceptable. Value should be one of the following values: \"['%s']\".",
			shorten(text), f.name, joinQuoted(v.choices))
	}
}

// mapValue is a mapping of any names to texts. It has no form for the command line.
type mapValue struct{ to *map[string]string }

func (v mapValue) Set(string) error { return errFileOnly }
func (v mapValue) String() string   { return "" }
func (v mapValue) Type() string     { return "mapping" }
func (v mapValue) decode(f field) {
	if !f.object() {
		return
	}
	*v.to = map[string]string{}
	for _, m := range f.members() {
		if text, ok := m.scalar(); ok {
			(*v.to)[m.key] = text
		}
	}
}

var errFileOnly = fmt.Errorf("only the configuration file can set this option")
