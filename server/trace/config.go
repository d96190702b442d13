package trace

import (
	"cmp"
	"errors"
	"math"
	"strconv"
	"time"
)

// parsedConfig is the parsed Options.Config.
type parsedConfig struct {
	mode string
	values
	file string
	// listed are the mode's own settings that clients see.
	listed []Setting
	export export
}

// export are the settings of the mode opentelemetry.
type export struct {
	url       string
	resource  []string // "<key>=<value>"
	queueSize int      // maximum of spans that wait for export
	batchSize int      // maximum of spans in one export
	delay     time.Duration
}

// Validate returns the error that New returns for the options, an OptionError.
func (o Options) Validate() error {
	_, err := o.parse()
	return err
}

func (o Options) parse() (parsedConfig, error) {
	s := parsedConfig{mode: Triton, values: values{rate: 1000, count: -1}}
	for _, set := range o.Config[Global] {
		if reason := s.global(set); reason != "" {
			return s, &OptionError{"--trace-config " + set.Name, reason}
		}
	}
	for _, set := range o.Config[s.mode] {
		if reason := s.scoped(set); reason != "" {
			return s, &OptionError{"--trace-config " + s.mode + "," + set.Name, reason}
		}
	}
	if s.mode == OpenTelemetry {
		return s, s.complete(o.Env)
	}
	return s, nil
}

// global reads a setting for both modes. Unknown settings are ignored.
func (s *parsedConfig) global(set Setting) (reason string) {
	var n int64
	switch set.Name {
	case "mode":
		s.mode, reason = parseMode(set.Value)
	case "level":
		var l level
		l, reason = parseLevel(set.Value)
		s.level |= l
	case "rate":
		n, reason = parseInt(set.Value, 0, math.MaxInt32)
		s.rate = uint32(n)
	case "count":
		n, reason = parseInt(set.Value, -1, math.MaxInt32)
		s.count = int32(n)
	}
	return reason
}

// scoped reads a setting of the mode. Unknown settings are only listed.
func (s *parsedConfig) scoped(set Setting) (reason string) {
	var n int64
	switch {
	case s.mode == Triton && set.Name == "file":
		s.file = set.Value
		return ""
	case s.mode == Triton && set.Name == "log-frequency":
		n, reason = parseInt(set.Value, 0, math.MaxInt32)
		s.frequency = uint32(n)
		return reason
	case s.mode == OpenTelemetry:
		if set.Value, reason = s.export.set(set); reason != "" {
			return reason
		}
	}
	s.listed = append(s.listed, set)
	return ""
}

// set reads a setting and returns its value as clients see it.
func (e *export) set(set Setting) (shown, reason string) {
	switch set.Name {
	case "url":
		e.url = set.Value
	case "resource":
		e.resource = append(e.resource, set.Value)
	case "bsp_max_queue_size", "bsp_schedule_delay", "bsp_max_export_batch_size":
		n, reason := parseInt(set.Value, 0, maxBatching)
		if reason != "" {
			return "", reason
		}
		e.batching(set.Name, n)
		return strconv.FormatInt(n, 10), ""
	}
	return set.Value, ""
}

func (e *export) batching(name string, n int64) {
	switch name {
	case "bsp_max_queue_size":
		e.queueSize = int(n)
	case "bsp_schedule_delay":
		e.delay = time.Duration(n) * time.Millisecond
	case "bsp_max_export_batch_size":
		e.batchSize = int(n)
	}
}

// maxBatching bounds the sizes of queue and batch, which take memory, and the delay.
const maxBatching = 1 << 24

// batchDefaults are the settings that the mode opentelemetry always has.
var batchDefaults = [...]struct{ name, env, value string }{
	{"bsp_max_queue_size", "OTEL_BSP_MAX_QUEUE_SIZE", "2048"},
	{"bsp_schedule_delay", "OTEL_BSP_SCHEDULE_DELAY", "5000"},
	{"bsp_max_export_batch_size", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "512"},
}

// complete reads settings that are not given from the environment.
func (s *parsedConfig) complete(env func(string) string) error {
	for _, d := range batchDefaults {
		if s.has(d.name) {
			continue
		}
		value := d.value
		if env != nil {
			value = cmp.Or(env(d.env), value)
		}
		if reason := s.scoped(Setting{d.name, value}); reason != "" {
			return &OptionError{d.env, reason}
		}
	}
	return nil
}

func (s *parsedConfig) has(name string) bool {
	for _, l := range s.listed {
		if l.Name == name {
			return true
		}
	}
	return false
}

func parseInt(text string, low, high int64) (n int64, reason string) {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, "Provided option value is out of bound. Got " + text
	case err != nil:
		return 0, "Invalid option value. Got " + text
	case n < low || n > high:
		return 0, "Provided option value is out of bound. Got " + text
	}
	return n, ""
}
