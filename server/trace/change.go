package trace

import (
	"errors"
	"math"
	"strconv"

	"triton/pkg/status"
)

// The names of the settings that clients may change.
const (
	LevelName     = "trace_level"
	rateName      = "trace_rate"
	countName     = "trace_count"
	frequencyName = "log_frequency"
	// FileName names a setting that clients read and must not change.
	FileName = "trace_file"
)

// Change is a client's change of settings. The zero value changes nothing.
type Change struct {
	// Terse leaves out a blank in one error message, as in Triton's HTTP frontend.
	Terse bool

	set, clear field
	to         values
}

// Names returns the names that Set knows, in the order in which Set is to be called.
func (*Change) Names() []string {
	return []string{FileName, LevelName, rateName, countName, frequencyName}
}

// field is a set of settings.
type field uint8

const (
	fieldLevel field = 1 << iota
	fieldRate
	fieldCount
	fieldFrequency
)

// Set adds a setting to the change. A setting without values becomes inherited again. Unknown
// settings and unknown levels are ignored.
func (c *Change) Set(name string, texts []string) error {
	switch name {
	case FileName:
		return status.New(status.Unsupported, "trace file location can not be updated through network protocol")
	case LevelName:
		return c.level(texts)
	case rateName:
		n, err := c.number(fieldRate, name, texts)
		c.to.rate = uint32(n)
		return err
	case countName:
		n, err := c.number(fieldCount, name, texts)
		c.to.count = int32(n)
		return err
	case frequencyName:
		n, err := c.number(fieldFrequency, name, texts)
		c.to.frequency = uint32(n)
		return err
	}
	return nil
}

func (c *Change) level(texts []string) error {
	if len(texts) == 0 {
		c.clear |= fieldLevel
		return nil
	}
	for _, t := range texts {
		switch t {
		case "OFF":
			if len(texts) > 1 {
				return status.New(status.InvalidArg, "Expect only one trace level 'OFF' is specified")
			}
			c.to.level = off
		case "TIMESTAMPS":
			c.to.level |= timestamps
		case "TENSORS":
			c.to.level |= tensors
		default:
			continue
		}
		c.set |= fieldLevel
	}
	return nil
}

// number reads the only value of a setting, a signed 32-bit integer. Negative rates and
// frequencies become large unsigned ones, as in Triton.
func (c *Change) number(f field, name string, texts []string) (int64, error) {
	if len(texts) == 0 {
		c.clear |= f
		return 0, nil
	}
	if len(texts) > 1 {
		return 0, status.New(status.InvalidArg, "expect only 1 value for '%s'", name)
	}
	n, err := strconv.ParseInt(texts[0], 10, 32)
	switch {
	case errors.Is(err, strconv.ErrRange):
		low, high := int64(0), int64(math.MaxUint32)
		if f == fieldCount {
			low, high = -1, math.MaxInt32
		}
		return 0, status.New(status.InvalidArg, "Unable to parse '%s', value is out of range [ %d, %d ], got: %s", name, low, high, texts[0])
	case err != nil:
		return 0, status.New(status.InvalidArg, "Unable to parse '%s', got: %s", name, texts[0])
	case f == fieldCount && n < -1:
		blank := " "
		if c.Terse {
			blank = ""
		}
		return 0, status.New(status.InvalidArg, "Unable to parse '%s'. Expecting value >= -1, got:%s%s", name, blank, texts[0])
	}
	c.set |= f
	return n, nil
}

// apply returns the values after the change, and which of them are set. set says which of the
// current values are set; the others are inherited.
func (c *Change) apply(set field, current, inherited values) (values, field) {
	set = (set | c.set) &^ c.clear
	v := inherited
	for _, f := range [...]field{fieldLevel, fieldRate, fieldCount, fieldFrequency} {
		switch {
		case set&f == 0:
		case c.set&f != 0:
			v.copy(f, c.to)
		default:
			v.copy(f, current)
		}
	}
	return v, set
}

// copy copies one setting.
func (v *values) copy(f field, from values) {
	switch f {
	case fieldLevel:
		v.level = from.level
	case fieldRate:
		v.rate = from.rate
	case fieldCount:
		v.count = from.count
	case fieldFrequency:
		v.frequency = from.frequency
	}
}
