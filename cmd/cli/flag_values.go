package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// The values of serve's flags take Triton's words, and say so in Triton's
// words when they do not understand.

// words is an error that is one of Triton's messages, which do not follow Go's
// custom for error texts.
type words string

func (w words) Error() string { return string(w) }

func said(format string, args ...any) error { return words(fmt.Sprintf(format, args...)) }

// boolValue always takes a value, so that "--allow-http false" works.
type boolValue struct{ to *bool }

func (v boolValue) String() string {
	if v.to == nil {
		return "false"
	}
	return strconv.FormatBool(*v.to)
}

func (v boolValue) Type() string { return "boolean" }

func (v boolValue) Set(s string) error {
	switch strings.ToLower(s) {
	case "true", "on", "1":
		*v.to = true
	case "false", "off", "0":
		*v.to = false
	default:
		return fmt.Errorf("invalid value for bool option: %s", s)
	}
	return nil
}

// intValue is an integer within bounds.
type intValue struct {
	to       *int64
	min, max int64
	// bad is the whole message for a value out of bounds; empty for the usual.
	bad string
}

func (v intValue) String() string {
	if v.to == nil {
		return "0"
	}
	return strconv.FormatInt(*v.to, 10)
}

func (v intValue) Type() string { return "integer" }

func (v intValue) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return said("Provided option value is out of bound. Got %s", s)
	case err != nil:
		return said("Invalid option value. Got %s", s)
	case (n < v.min || n > v.max) && v.bad != "":
		return said("%s", v.bad)
	case n < v.min || n > v.max:
		return said("Provided option value is out of bound. Got %s, the range is %d to %d", s, v.min, v.max)
	}
	*v.to = n
	return nil
}

// timeValue is a number of units of time.
type timeValue struct {
	to   *time.Duration
	unit time.Duration
	min  int64
}

func (v timeValue) String() string {
	if v.to == nil {
		return "0"
	}
	return strconv.FormatInt(int64(*v.to/v.unit), 10)
}

func (v timeValue) Type() string { return "integer" }

func (v timeValue) Set(s string) error {
	n := int64(0)
	if err := (intValue{to: &n, min: minInt, max: int64(maxInt / v.unit)}).Set(s); err != nil {
		return err
	}
	*v.to = time.Duration(max(n, v.min)) * v.unit
	return nil
}

const (
	maxInt = 1<<63 - 1
	minInt = -1 << 63
)

// floatValue is a number with a fraction.
type floatValue struct{ to *float64 }

func (v floatValue) String() string {
	if v.to == nil {
		return "0"
	}
	return strconv.FormatFloat(*v.to, 'f', -1, 64)
}

func (v floatValue) Type() string { return "float" }

func (v floatValue) Set(s string) error {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return said("Invalid option value. Got %s", s)
	}
	*v.to = f
	return nil
}

// listValue collects the values of a flag that may be repeated. Nothing in a
// value separates it into several.
type listValue struct {
	to    *[]string
	check func(string) error
}

func (v listValue) String() string {
	if v.to == nil {
		return ""
	}
	return strings.Join(*v.to, " ")
}

func (v listValue) Type() string { return "string" }

func (v listValue) Set(s string) error {
	if v.check != nil {
		if err := v.check(s); err != nil {
			return err
		}
	}
	*v.to = append(*v.to, s)
	return nil
}

// checkedValue passes a value to a function.
type checkedValue struct {
	kind string
	text *string
	set  func(string) error
}

func (v checkedValue) String() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

func (v checkedValue) Type() string { return v.kind }

func (v checkedValue) Set(s string) error {
	if err := v.set(s); err != nil {
		return err
	}
	*v.text = s
	return nil
}

// errLater says that a flag of Triton's exists and does nothing here yet.
func errLater(name, value string, harmless []string) error {
	if len(harmless) == 0 {
		return fmt.Errorf("--%s is not supported by this server yet; leave it out", name)
	}
	return fmt.Errorf("--%s=%s is not supported by this server yet; only %s is", name, value, strings.Join(harmless, " or "))
}

var (
	_ pflag.Value = boolValue{}
	_ pflag.Value = intValue{}
	_ pflag.Value = timeValue{}
	_ pflag.Value = floatValue{}
	_ pflag.Value = listValue{}
	_ pflag.Value = checkedValue{}
)
