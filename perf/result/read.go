package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"unicode/utf8"
)

// MaxBytes is the size of the largest file that Read accepts. Exports of perf_analyzer have
// every request.
const MaxBytes = 1 << 30

// SyntaxError is where a file is not as it must be.
type SyntaxError struct {
	Line, Column int // from 1
	Reason       string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// ReadFile reads a file by name. Errors begin with the name.
func ReadFile(name string) (*File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	file, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return file, nil
}

// Read reads a result file, or a file of perf_analyzer's --profile-export-file.
func Read(r io.Reader) (*File, error) {
	src, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(src) > MaxBytes {
		return nil, fmt.Errorf("the file has more than %d MiB", MaxBytes>>20)
	}
	var kind struct {
		Format      *string          `json:"format"`
		Version     json.RawMessage  `json:"version"`
		Experiments *json.RawMessage `json:"experiments"`
	}
	if err := decode(src, &kind); err != nil {
		return nil, err
	}
	switch {
	case kind.Format == nil && kind.Experiments != nil:
		return readExport(src)
	case kind.Format == nil || *kind.Format != Format:
		return nil, fmt.Errorf(`this is no result of triton perf (its "format" would be %q) and no profile export of perf_analyzer`, Format)
	}
	f := &File{}
	if err := checkVersion(kind.Version); err != nil {
		return nil, err
	}
	if err := decode(src, f); err != nil {
		return nil, err
	}
	return f, f.validate()
}

func checkVersion(text json.RawMessage) error {
	var v int
	if err := json.Unmarshal(text, &v); err != nil || v < 1 {
		return fmt.Errorf(`"version" must be a whole number from 1 on, not %q`, text)
	}
	if v > Version {
		return fmt.Errorf("the file has version %d of the format, and this program reads up to version %d: use a newer triton", v, Version)
	}
	return nil
}

// decode reads JSON; errors have a position.
func decode(src []byte, into any) error {
	err := json.Unmarshal(src, into)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax) && len(bytes.TrimSpace(src)) == 0:
		return &SyntaxError{1, 1, "the file is empty"}
	case errors.As(err, &syntax):
		return at(src, syntax.Offset, syntax.Error())
	case errors.As(err, &kind):
		return at(src, kind.Offset, fmt.Sprintf("%q cannot be a %s", kind.Field, kind.Value))
	}
	return err
}

func at(src []byte, offset int64, reason string) error {
	before := src[:min(max(0, offset-1), int64(len(src)))]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	return &SyntaxError{1 + bytes.Count(before, []byte{'\n'}), 1 + utf8.RuneCount(line), reason}
}

// validate refuses figures that no measurement has.
func (f *File) validate() error {
	for i := range f.Levels {
		if err := f.Levels[i].validate(); err != nil {
			return fmt.Errorf("levels[%d]: %w", i, err)
		}
	}
	return nil
}

func (l *Level) validate() error {
	for _, v := range []struct {
		name  string
		value float64
	}{
		{"batch_size", float64(l.BatchSize)},
		{"load", l.Load},
		{"requests", float64(l.Requests)},
		{"duration_s", l.DurationS},
		{"throughput_per_s", l.Throughput},
	} {
		if v.value < 0 || v.value > math.MaxInt64 {
			return fmt.Errorf("%q is %g, which is no such figure", v.name, v.value)
		}
	}
	if err := l.Latency.validate(); err != nil {
		return err
	}
	for i := range l.Timeline {
		m := &l.Timeline[i]
		if m.DurationS < 0 || m.Requests < 0 {
			return fmt.Errorf("timeline[%d]: its duration and its number of requests must not be negative", i)
		}
		if err := m.Latency.validate(); err != nil {
			return fmt.Errorf("timeline[%d]: %w", i, err)
		}
	}
	for i, b := range l.Histogram {
		if b.LowUs < 0 || b.HighUs <= b.LowUs || i > 0 && b.LowUs < l.Histogram[i-1].HighUs {
			return fmt.Errorf("latency_histogram[%d]: buckets must ascend and not overlap", i)
		}
	}
	return nil
}

func (l Latency) validate() error {
	if l.AvgUs < 0 {
		return errors.New("a latency must not be negative")
	}
	for i, p := range l.Percentiles {
		switch {
		case p.P <= 0 || p.P > 100:
			return fmt.Errorf("there is no percentile %g", p.P)
		case i > 0 && p.P <= l.Percentiles[i-1].P:
			return errors.New("percentiles must ascend")
		case p.Us < 0:
			return errors.New("a latency must not be negative")
		}
	}
	return nil
}
