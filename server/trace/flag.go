package trace

import (
	"fmt"
	"strings"
)

// The scopes of Options.Config.
const (
	Global        = ""
	Triton        = "triton"
	OpenTelemetry = "opentelemetry"
)

// OptionError is an option with a value that cannot be used.
type OptionError struct{ Option, Reason string }

func (e *OptionError) Error() string {
	return fmt.Sprintf("Bad option: \"%s\".\n%s", e.Option, e.Reason)
}

// ParseConfig returns the arguments of --trace-config, "<setting>=<value>" and
// "<mode>,<setting>=<value>", by scope and in their order. Options.Validate checks the settings.
// The error is an OptionError.
//
// A later setting overrides an earlier one, so the flags that --trace-config replaced come first.
func ParseConfig(args []string) (map[string][]Setting, error) {
	config := map[string][]Setting{}
	for _, arg := range args {
		scope, s, reason := parseSetting(arg)
		if reason != "" {
			return nil, &OptionError{"--trace-config", reason}
		}
		config[scope] = append(config[scope], s)
	}
	return config, nil
}

// parseSetting reads one argument. reason is not empty when it is malformed.
func parseSetting(arg string) (scope string, s Setting, reason string) {
	mode, rest, scoped := strings.Cut(arg, ",")
	switch {
	case !scoped:
		rest = arg
	case mode == "":
		return "", s, "No trace mode specified. --trace-config option format is <trace mode>,<setting>=<value> or " +
			"<setting>=<value>. Got " + arg
	default:
		if scope, reason = parseMode(mode); reason != "" {
			return "", s, reason
		}
	}
	s.Name, s.Value, _ = strings.Cut(rest, "=")
	if s.Name == "" || s.Value == "" {
		return "", s, "--trace-config option format is '<trace mode>,<setting>=<value>'. Got " + arg
	}
	return scope, s, ""
}

func parseMode(text string) (mode, reason string) {
	mode = strings.ToLower(text)
	if mode != Triton && mode != OpenTelemetry {
		return "", fmt.Sprintf("invalid value for trace mode option: %s. Available options are %q and %q", mode, Triton, OpenTelemetry)
	}
	return mode, ""
}

// parseLevel reads a level of the command line.
func parseLevel(text string) (l level, reason string) {
	switch name := strings.ToLower(text); name {
	case "false", "off":
		return off, ""
	case "true", "on", "min", "max", "timestamps":
		return timestamps, ""
	case "tensors":
		return tensors, ""
	default:
		return off, "invalid value for trace level option: " + name + ": use one of OFF, TIMESTAMPS, TENSORS"
	}
}
