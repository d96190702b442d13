package cli

import (
	"errors"
	"slices"
	"strings"
	"time"

	"triton/server/trace"
)

func (s *serveFlags) defineMetrics(b *flagBook) {
	b.group("Metrics")
	m := &s.opts.Metrics
	b.boolean(&m.Allow, "allow-metrics", "Serve Prometheus metrics.")
	b.boolean(&m.GPU, "allow-gpu-metrics", "Include GPU metrics.")
	b.boolean(&m.CPU, "allow-cpu-metrics", "Include CPU and memory metrics.")
	b.text(&m.Address, "metrics-address", "Address for metrics; by default that of HTTP.")
	s.port(b, &m.Port, "metrics-port", "Port for metrics.")
	b.add("metrics-interval-ms", "Milliseconds between readings of GPU and CPU metrics.", fractionValue{timeValue{to: &m.Interval, unit: time.Millisecond}})
	var settings []string
	b.list(&settings, "metrics-config", "<setting>=<value>: counter_latencies, summary_latencies, summary_quantiles or histogram_latencies; may be repeated.",
		func(v string) error { _, _, err := metricsSetting(v); return err })
	s.encryption(b, &m.TLS, "metrics", "metrics")
	b.ours("metrics-use-ssl", "metrics-use-ssl-mutual", "metrics-server-cert", "metrics-server-key", "metrics-root-cert")
	s.finally(func() error {
		m.GPU, m.CPU = m.GPU && m.Allow, m.CPU && m.Allow
		m.Settings = map[string]string{}
		for _, v := range settings {
			key, value, _ := metricsSetting(v)
			m.Settings[key] = value
		}
		return nil
	})
}

// metricsSetting reads "<setting>=<value>".
func metricsSetting(arg string) (key, value string, err error) {
	key, value, ok := strings.Cut(arg, "=")
	if !ok || key == "" || value == "" || strings.Contains(key, ",") {
		err = said("--metrics-config option format is <setting>=<value>. Got %s", arg)
	}
	return key, value, err
}

// deprecatedTrace is a flag that --trace-config replaced.
type deprecatedTrace struct {
	scope, setting string
	form           string // of the replacement
	called         string // when both are given
	values         []string
}

func (s *serveFlags) defineTracing(b *flagBook) {
	b.group("Tracing")
	var args []string
	b.list(&args, "trace-config",
		"<setting>=<value> for mode, level, rate and count, or <mode>,<setting>=<value> for the settings of the mode triton or opentelemetry; may be repeated.",
		func(v string) error {
			_, err := trace.ParseConfig([]string{v})
			if wrong := (*trace.OptionError)(nil); errors.As(err, &wrong) {
				return said("%s", wrong.Reason)
			}
			return err
		})
	s.finally(func() error {
		config, err := trace.ParseConfig(args)
		if err != nil {
			return err
		}
		s.oldTracing(config)
		s.opts.Trace = trace.Options{Config: config, Env: s.getenv}
		return s.opts.Trace.Validate()
	})
}

// traceFlags are the flags that --trace-config replaced.
func traceFlags() []deprecatedTrace {
	return []deprecatedTrace{
		{scope: trace.Triton, setting: "file", form: "triton,file=<filepath>", called: "file"},
		{setting: "level", form: "level=<OFF|TIMESTAMPS|TENSORS>", called: "level"},
		{setting: "rate", form: "rate=<rate value>", called: "rate value"},
		{setting: "count", form: "count=<count value>", called: "count"},
		{scope: trace.Triton, setting: "log-frequency", form: "triton,log-frequency=<log frequency value>", called: "log-frequency"},
	}
}

// oldTracing puts the values of deprecated flags before those of --trace-config,
// which win.
func (s *serveFlags) oldTracing(config map[string][]trace.Setting) {
	var given []deprecatedTrace
	for _, d := range s.oldTrace {
		if len(d.values) > 0 {
			s.warn("Warning: '" + d.flag() + "' has been deprecated and will be removed in future releases. Please use '--trace-config " + d.form + " instead.")
			given = append(given, d)
		}
	}
	telemetry := slices.ContainsFunc(config[trace.Global], func(set trace.Setting) bool {
		return set.Name == "mode" && strings.EqualFold(set.Value, trace.OpenTelemetry)
	})
	for _, d := range given {
		if telemetry && d.scope == trace.Triton {
			s.warn("Warning: '" + d.flag() + "' is deprecated and will be ignored with opentelemetry tracing mode.")
			continue
		}
		same := func(set trace.Setting) bool { return set.Name == d.setting }
		if slices.ContainsFunc(config[d.scope], same) {
			s.warn("Warning: Overriding deprecated '" + d.flag() + "' in favor of provided " + d.called + " in --trace-config!")
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

func (d deprecatedTrace) flag() string { return "--trace-" + d.setting }

// isOff says whether a deprecated level turns tracing off, whatever else is asked
// for.
func isOff(level string) bool {
	return strings.EqualFold(level, "off") || strings.EqualFold(level, "false")
}

// defineDeprecated lists the flags that others have replaced.
func (s *serveFlags) defineDeprecated(b *flagBook) {
	b.group("DEPRECATED")
	s.defineStrictConfig(b)
	s.defineCacheSize(b)
	s.oldTrace = traceFlags()
	for i := range s.oldTrace {
		d := &s.oldTrace[i]
		b.list(&d.values, "trace-"+d.setting, "Use --trace-config "+d.form+".", func(v string) error { return oldTraceValue(d.setting, v) })
	}
}

func oldTraceValue(setting, v string) error {
	switch setting {
	case "rate", "count", "log-frequency":
		_, err := parseInt(v)
		return err
	case "level":
		err := trace.Options{Config: map[string][]trace.Setting{trace.Global: {{Name: setting, Value: v}}}}.Validate()
		if wrong := (*trace.OptionError)(nil); errors.As(err, &wrong) {
			return said("%s", wrong.Reason)
		}
	}
	return nil
}

func (s *serveFlags) defineStrictConfig(b *flagBook) {
	strict := false
	b.boolean(&strict, "strict-model-config", "The opposite of filling in configurations; use --disable-auto-complete-config.")
	s.finally(func() error {
		if !b.given("strict-model-config") {
			return nil
		}
		s.warn("Warning: '--strict-model-config' has been deprecated! Please use '--disable-auto-complete-config' instead.")
		if !strict && !s.opts.AutoComplete {
			s.warn("Warning: Overriding deprecated '--strict-model-config' from False to True in favor of '--disable-auto-complete-config'!")
		}
		s.opts.AutoComplete = s.opts.AutoComplete && !strict
		return nil
	})
}
