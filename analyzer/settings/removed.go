package settings

import (
	"fmt"
	"strings"
)

// removedFlag is a flag of an older Model Analyzer.
type removedFlag struct {
	name string
	bare bool // takes no value
	// apply sets what took its place; nil if the flag is ignored.
	apply func(p *Profile, text string) error
	// sets is the key of the option that apply sets; empty if it sets none.
	sets string
	note string // for the user
}

// key returns the name in files.
func (r removedFlag) key() string { return strings.ReplaceAll(r.name, "-", "_") }

const ignored = "It was removed from Model Analyzer and is ignored."

// instead returns a removed flag with another name.
func instead(name, key string) removedFlag {
	return removedFlag{
		name: name, sets: key, note: fmt.Sprintf("It was removed from Model Analyzer; use %s.", key),
		apply: func(p *Profile, text string) error { return p.option(key).Value.Set(text) },
	}
}

// option returns an option by key.
func (p *Profile) option(key string) Option {
	for _, o := range p.Options() {
		if o.Key == key {
			return o
		}
	}
	panic("settings: no option is called " + key)
}

var removed = removedFlags()

func removedFlags() []removedFlag {
	all := []removedFlag{
		{name: "export", bare: true, note: ignored + " Results are always written."},
		{name: "no-perf-output", bare: true, note: ignored},
		{name: "summarize", bare: true, note: ignored + " Summaries are always written."},
		{name: "log-level", note: "It was removed from Model Analyzer; use -v or -q.", apply: setLogLevel},
		instead("max-retries", "client_max_retries"),
		instead("model-names", "profile_models"),
		{name: "perf-measurement-window", note: "It was removed from Model Analyzer; use measurement-interval in perf_analyzer_flags.", apply: setWindow},
		{name: "triton-version", sets: "triton_docker_image", note: "It was removed from Model Analyzer; use triton_docker_image.", apply: setImageTag},
		{name: "triton-server-flags", sets: "triton_server_flags", note: "It was removed from the command line of Model Analyzer; use triton_server_flags in the configuration file.", apply: setServerFlags},
		instead("analysis-models", "profile_models"),
		{name: "run-config-search-max-preferred-batch-size", note: ignored},
		{name: "run-config-search-preferred-batch-size-disable", bare: true, note: ignored},
		{name: "use-local-gpu-monitor", bare: true, note: ignored},
		{name: "llm-search-enable", bare: true, note: ignored},
	}
	for _, name := range []string{"max-token-count", "periodic-concurrency", "request-period", "text-input-length"} {
		all = append(all, removedFlag{name: name, note: ignored})
	}
	for _, limit := range []string{"min", "max"} {
		for _, name := range []string{"max-token-count", "periodic-concurrency", "periodic-concurrency-step", "request-period", "text-input-length"} {
			all = append(all, removedFlag{name: "run-config-search-" + limit + "-" + name, note: ignored})
		}
	}
	for _, key := range []string{
		"min_percentage_of_search_space", "max_percentage_of_search_space", "optuna_min_trials",
		"optuna_max_trials", "optuna_early_exit_threshold",
	} {
		all = append(all, instead(key, key))
	}
	underlined := instead("use_concurrency_formula", "use_concurrency_formula")
	underlined.bare = true
	return append(all, underlined)
}

func setLogLevel(p *Profile, text string) error {
	switch strings.ToUpper(text) {
	case "DEBUG":
		p.Verbose = true
	case "ERROR", "CRITICAL", "FATAL":
		p.Quiet = true
	case "INFO", "WARNING", "WARN":
	default:
		return fmt.Errorf("invalid choice: '%s' (choose from 'DEBUG', 'INFO', 'WARNING', 'ERROR')", shorten(text))
	}
	return nil
}

// setWindow sets the length of perf_analyzer's windows. The value of the file does not replace it.
func setWindow(p *Profile, text string) error {
	if _, err := parseInt(text, 1, anyInt); err != nil {
		return err
	}
	p.window = text
	return nil
}

func setImageTag(p *Profile, text string) error {
	image := NewProfile().Server.DockerImage
	p.Server.DockerImage = image[:strings.LastIndex(image, ":")+1] + text
	return nil
}

// setServerFlags reads flags as on the command line of a server, separated by blanks.
func setServerFlags(p *Profile, text string) error {
	flags := Flags{}
	for _, part := range strings.Fields(text) {
		name, value, ok := strings.Cut(strings.TrimLeft(part, "-"), "=")
		if !ok {
			return fmt.Errorf("%q is not a flag name=value", shorten(part))
		}
		name = strings.ReplaceAll(name, "_", "-")
		if !contains(serverFlags.known, name) {
			return fmt.Errorf("%q is no flag of the server.%s", shorten(name), didYouMean(name, serverFlags.known))
		}
		flags = append(flags, Flag{name, []string{value}})
	}
	p.Global.ServerFlags = flags
	return nil
}

// removedValue applies a removed flag and notes what to use instead.
type removedValue struct {
	p *Profile
	removedFlag
}

// Set applies the flag.
func (v removedValue) Set(text string) error {
	v.p.Notices = append(v.p.Notices, fmt.Sprintf("--%s: %s", v.name, v.note))
	if v.apply == nil {
		return nil
	}
	if v.sets != "" {
		v.p.set[v.sets] = true
	}
	return v.apply(v.p, text)
}
func (v removedValue) String() string { return "" }

// Type returns the type of the value; "bool" of a flag without one.
func (v removedValue) Type() string {
	if v.bare {
		return "bool"
	}
	return "string"
}
func (v removedValue) decode(field) {}

// RemovedFlags returns the flags of older releases of Model Analyzer. They set what took their place,
// or nothing, and add to p.Notices.
func (p *Profile) RemovedFlags() []Option {
	var all []Option
	for _, r := range removed {
		all = append(all, Option{Flag: r.name, Usage: r.note, Value: removedValue{p, r}})
	}
	return all
}
