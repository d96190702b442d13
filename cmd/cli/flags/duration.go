package flags

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// ParseDuration reads a time with a unit, such as 500ms, 5s or 1m30s, or a number of units.
func ParseDuration(text string, unit time.Duration) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return d, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	d := n * float64(unit)
	if err != nil || !(-1<<63 < d && d < 1<<63) {
		return 0, fmt.Errorf("%q is not a time such as 500ms, 5s or 1m30s", text)
	}
	return time.Duration(d), nil
}

type duration struct {
	to   *time.Duration
	unit time.Duration
}

// Duration returns a flag's value that is a time with a unit, or a number of units.
func Duration(to *time.Duration, initial, unit time.Duration) pflag.Value {
	*to = initial
	return duration{to, unit}
}

func (v duration) String() string {
	if v.to == nil || *v.to == 0 {
		return "0"
	}
	return v.to.String()
}

func (v duration) Type() string { return "duration" }

func (v duration) Set(text string) (err error) {
	*v.to, err = ParseDuration(text, v.unit)
	return err
}
