package serve

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"triton/server/trace"
)

func (o *options) finishDeprecated() error {
	if o.table.Changed("strict-model-config") {
		o.warn("Warning: '--strict-model-config' has been deprecated! Please use '--disable-auto-complete-config' instead.")
		if !o.strictConfig && !o.AutoComplete {
			o.warn("Warning: Overriding deprecated '--strict-model-config' from False to True in favor of '--disable-auto-complete-config'!")
		}
		o.AutoComplete = o.AutoComplete && !o.strictConfig
	}
	if o.table.Changed("response-cache-byte-size") {
		text := strconv.FormatInt(o.cacheSize, 10)
		o.warn("Warning: '--response-cache-byte-size' has been deprecated! This will default to the 'local' cache implementation with " +
			"the provided byte size for its config. Please use '--cache-config' instead. The equivalent --cache-config CLI args would be: " +
			"'--cache-config=local,size=" + text + "'")
		o.setCache("local", "size", text)
	}
	return nil
}

// deprecatedTrace is a flag that --trace-config replaced.
type deprecatedTrace struct {
	scope, setting string
	replacement    string // arguments of --trace-config
	label          string // name of the setting in the warning that both flags were given
	values         []string
}

func deprecatedTraces() []deprecatedTrace {
	return []deprecatedTrace{
		{scope: trace.Triton, setting: "file", replacement: "triton,file=<filepath>", label: "file"},
		{setting: "level", replacement: "level=<OFF|TIMESTAMPS|TENSORS>", label: "level"},
		{setting: "rate", replacement: "rate=<rate value>", label: "rate value"},
		{setting: "count", replacement: "count=<count value>", label: "count"},
		{scope: trace.Triton, setting: "log-frequency", replacement: "triton,log-frequency=<log frequency value>", label: "log-frequency"},
	}
}

func (d *deprecatedTrace) flag() string { return "--trace-" + d.setting }

func (d *deprecatedTrace) check(v string) error {
	switch d.setting {
	case "rate", "count", "log-frequency":
		_, err := parseInt(v)
		return err
	case "level":
		err := trace.Options{Config: map[string][]trace.Setting{trace.Global: {{Name: d.setting, Value: v}}}}.Validate()
		if wrong := (*trace.OptionError)(nil); errors.As(err, &wrong) {
			return tritonErrorf("%s", wrong.Reason)
		}
	}
	return nil
}

// checkTrace checks a value of --trace-config.
func checkTrace(v string) error {
	_, err := trace.ParseConfig([]string{v})
	if wrong := (*trace.OptionError)(nil); errors.As(err, &wrong) {
		return tritonErrorf("%s", wrong.Reason)
	}
	return err
}

// addDeprecatedTraces puts the values of deprecated flags before those of --trace-config, which
// take precedence.
func (o *options) addDeprecatedTraces(config map[string][]trace.Setting) {
	var given []deprecatedTrace
	for _, d := range o.traceFlags {
		if len(d.values) > 0 {
			o.warn("Warning: '" + d.flag() + "' has been deprecated and will be removed in future releases. Please use '--trace-config " + d.replacement + " instead.")
			given = append(given, d)
		}
	}
	telemetry := slices.ContainsFunc(config[trace.Global], func(set trace.Setting) bool {
		return set.Name == "mode" && strings.EqualFold(set.Value, trace.OpenTelemetry)
	})
	for _, d := range given {
		if telemetry && d.scope == trace.Triton {
			o.warn("Warning: '" + d.flag() + "' is deprecated and will be ignored with opentelemetry tracing mode.")
			continue
		}
		same := func(set trace.Setting) bool { return set.Name == d.setting }
		if slices.ContainsFunc(config[d.scope], same) {
			o.warn("Warning: Overriding deprecated '" + d.flag() + "' in favor of provided " + d.label + " in --trace-config!")
		}
		var before []trace.Setting
		for _, v := range d.values {
			before = append(before, trace.Setting{Name: d.setting, Value: v})
		}
		config[d.scope] = append(before, config[d.scope]...)
		if d.setting == "level" && slices.ContainsFunc(d.values, isOff) {
			config[d.scope] = slices.DeleteFunc(config[d.scope], same)
		}
	}
}

// isOff reports whether a deprecated level turns tracing off, regardless of other flags.
func isOff(level string) bool {
	return strings.EqualFold(level, "off") || strings.EqualFold(level, "false")
}
