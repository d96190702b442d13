package serve

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// The values of the flags accept what Triton accepts, and have Triton's error texts.

// tritonError is an error text of Triton, which does not follow Go's conventions.
type tritonError string

func (e tritonError) Error() string { return string(e) }

func tritonErrorf(format string, args ...any) error { return tritonError(fmt.Sprintf(format, args...)) }

// boolValue requires a value, so that "--allow-http false" works.
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

// integer is the constraint of the fields that integer flags set.
type integer interface{ ~int | ~int64 | ~uint32 }

// intValue is an integer within bounds.
type intValue[T integer] struct {
	to       *T
	min, max int64
	// outside is the message for a value out of bounds; empty: the usual message.
	outside string
}

// int32Value is an integer of 32 bits, like most of Triton's flags.
func int32Value[T integer](to *T) intValue[T] {
	return intValue[T]{to: to, min: minInt32, max: maxInt32}
}

func (v intValue[T]) String() string {
	if v.to == nil {
		return "0"
	}
	return strconv.FormatInt(int64(*v.to), 10)
}

func (v intValue[T]) Type() string { return "integer" }

func (v intValue[T]) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err != nil:
		return numberError(s, err)
	case (n < v.min || n > v.max) && v.outside != "":
		return tritonErrorf("%s", v.outside)
	case v.max <= maxInt32 && (n < minInt32 || n > maxInt32):
		return numberError(s, strconv.ErrRange)
	case n < v.min || n > v.max:
		return tritonErrorf("Provided option value is out of bound. Got %s, the range is %d to %d", s, v.min, v.max)
	}
	*v.to = T(n)
	return nil
}

// numberError returns Triton's message about a text that is not a number in range.
func numberError(s string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, strconv.ErrRange):
		return tritonErrorf("Provided option value is out of bound. Got %s", s)
	}
	return tritonErrorf("Invalid option value. Got %s", s)
}

// timeValue is a number of units of time; a negative number counts as 0.
type timeValue struct {
	to   *time.Duration
	unit time.Duration
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
	if err := (intValue[int64]{to: &n, min: minInt, max: int64(maxInt / v.unit)}).Set(s); err != nil {
		return err
	}
	*v.to = time.Duration(max(n, 0)) * v.unit
	return nil
}

// fractionValue is a number of units of time whose fraction is dropped, like a float flag
// of Triton.
type fractionValue struct{ timeValue }

func (v fractionValue) Type() string { return "float" }

func (v fractionValue) Set(s string) error {
	whole, fraction, hasFraction := strings.Cut(s, ".")
	if _, err := strconv.ParseUint(fraction, 10, 64); hasFraction && err != nil {
		return numberError(s, err)
	}
	return v.timeValue.Set(whole)
}

const (
	maxInt   = 1<<63 - 1
	minInt   = -1 << 63
	maxInt32 = 1<<31 - 1
	minInt32 = -1 << 31
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
	f, err := parseFloat(s)
	if err == nil {
		*v.to = f
	}
	return err
}

// listValue collects the values of a flag that may be repeated. A value is not split at
// commas.
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

// checkedValue is a text that a function accepts or rejects.
type checkedValue struct {
	text *string
	set  func(string) error
}

func (v checkedValue) String() string {
	if v.text == nil {
		return ""
	}
	return *v.text
}

func (v checkedValue) Type() string { return "string" }

func (v checkedValue) Set(s string) error {
	if err := v.set(s); err != nil {
		return err
	}
	*v.text = s
	return nil
}

// textValue is any text.
func textValue(to *string) checkedValue {
	return checkedValue{to, func(string) error { return nil }}
}

var (
	_ pflag.Value = boolValue{}
	_ pflag.Value = intValue[int64]{}
	_ pflag.Value = timeValue{}
	_ pflag.Value = fractionValue{}
	_ pflag.Value = floatValue{}
	_ pflag.Value = listValue{}
	_ pflag.Value = checkedValue{}
)
