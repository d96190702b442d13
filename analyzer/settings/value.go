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

type textValue struct{ to *string }

func (v textValue) Set(text string) error { *v.to = text; return nil }
func (v textValue) String() string        { return *v.to }
func (v textValue) Type() string          { return "string" }
func (v textValue) decode(f field)        { assign(f, v.Set) }

type intValue struct {
	to        *int
	low, high int
}

func (v intValue) Set(text string) (err error) {
	*v.to, err = parseInt(text, v.low, v.high)
	return err
}
func (v intValue) String() string { return strconv.Itoa(*v.to) }
func (v intValue) Type() string   { return "int" }
func (v intValue) decode(f field) { assign(f, v.Set) }

// anyInt is the range of an integer without limits of its own.
const anyInt = math.MaxInt32

func parseInt(text string, low, high int) (int, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not an integer", shorten(text))
	case n < int64(low) && high == anyInt:
		return 0, fmt.Errorf("%d is less than %d", n, low)
	case n < int64(low) || n > int64(high):
		return 0, fmt.Errorf("%d is not in the range %d to %d", n, low, high)
	}
	return int(n), nil
}

// optionalInt is a number from 1 that is 0 when it is not set.
type optionalInt struct{ intValue }

func (v optionalInt) String() string {
	if *v.to == 0 {
		return ""
	}
	return v.intValue.String()
}

type int64Value struct{ to *int64 }

func (v int64Value) Set(text string) error {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not an integer", shorten(text))
	}
	*v.to = n
	return nil
}
func (v int64Value) String() string { return strconv.FormatInt(*v.to, 10) }
func (v int64Value) Type() string   { return "int" }
func (v int64Value) decode(f field) { assign(f, v.Set) }

// floatValue is a number greater than 0.
type floatValue struct{ to *float64 }

func (v floatValue) Set(text string) error {
	x, err := parseFloat(text)
	if err != nil {
		return err
	}
	if x <= 0 {
		return fmt.Errorf("%s is not greater than 0", text)
	}
	*v.to = x
	return nil
}

func (v floatValue) String() string {
	if *v.to == 0 {
		return ""
	}
	return strconv.FormatFloat(*v.to, 'g', -1, 64)
}
func (v floatValue) Type() string   { return "float" }
func (v floatValue) decode(f field) { assign(f, v.Set) }

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
type durationValue struct {
	to        *time.Duration
	low, high time.Duration
}

func (v durationValue) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		seconds, err := parseFloat(text)
		if err != nil {
			return fmt.Errorf("%q is not a number of seconds, or a time such as 500ms or 2m", shorten(text))
		}
		if math.Abs(seconds) > math.MaxInt32 {
			return fmt.Errorf("%s seconds is too long", text)
		}
		d = time.Duration(seconds * float64(time.Second))
	}
	switch {
	case d < v.low && v.high > longest/2:
		return fmt.Errorf("%s is less than %s", text, v.low)
	case d < v.low || d > v.high:
		return fmt.Errorf("%s is not in the range %s to %s", text, v.low, v.high)
	}
	*v.to = d
	return nil
}

func (v durationValue) String() string {
	if *v.to == 0 {
		return ""
	}
	return strconv.FormatFloat(v.to.Seconds(), 'g', -1, 64)
}
func (v durationValue) Type() string   { return "seconds" }
func (v durationValue) decode(f field) { assign(f, v.Set) }

type boolValue struct{ to *bool }

func (v boolValue) Set(text string) error {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "1":
		*v.to = true
	case "false", "no", "off", "0":
		*v.to = false
	default:
		return fmt.Errorf("%q is neither true nor false", shorten(text))
	}
	return nil
}
func (v boolValue) String() string { return strconv.FormatBool(*v.to) }
func (v boolValue) Type() string   { return "bool" }
func (v boolValue) decode(f field) { assign(f, v.Set) }

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
