package perf

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"triton/perf"
	"triton/pkg/client"
	"triton/pkg/kserve"
)

// addRequestFlags adds the options that change each request.
func (o *options) addRequestFlags(t table) {
	t.value("grpc-compression-algorithm", "", "<none|gzip|deflate>", "compression of gRPC requests (none)", func(text string) error {
		switch text {
		case "none":
			o.compressionGiven, o.compression = true, ""
			return nil
		case "gzip", "deflate":
			o.compressionGiven, o.compression = true, text
			return nil
		}
		return fmt.Errorf("Failed to parse --grpc-compression-algorithm. Unsupported type provided: '%s'. The available options are 'gzip', 'deflate', or 'none'.", text)
	})
	t.value("request-parameter", "", "<name:value:type>", "parameter of every gRPC request, of the type bool, int or string; may be repeated", o.addParameter)
	t.value("bls-composing-models", "", "<name:version,…>", "models that the model calls, whose statistics are reported with its own", o.addComposing)
}

func (o *options) addParameter(text string) error {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return errors.New("Failed to parse --request-parameter. The value does not match <name:value:type>.")
	}
	p := kserve.Parameter{Name: parts[0]}
	var err error
	switch strings.ToLower(parts[2]) {
	case "bool":
		p.Kind = kserve.ParamBool
		p.Bool, err = strconv.ParseBool(strings.ToLower(parts[1]))
	case "int":
		p.Kind = kserve.ParamInt
		p.Int, err = strconv.ParseInt(parts[1], 10, 64)
	case "string":
		p.Kind, p.String = kserve.ParamString, parts[1]
	default:
		err = fmt.Errorf("the type %q is none of bool, int and string", parts[2])
	}
	if err != nil {
		return fmt.Errorf("Failed to parse --request-parameter. %q: %w", text, err)
	}
	list := &o.config.Parameters
	for i := range *list {
		if (*list)[i].Name == p.Name {
			(*list)[i] = p
			return nil
		}
	}
	*list = append(*list, p)
	return nil
}

func (o *options) addComposing(text string) error {
	for _, item := range strings.Split(strings.Join(strings.Fields(text), ""), ",") {
		name, version, _ := strings.Cut(item, ":")
		if name == "" {
			return fmt.Errorf("Failed to parse --bls-composing-models. %q names no model.", text)
		}
		o.config.Composing = append(o.config.Composing, perf.Composing{Model: name, Version: version})
	}
	return nil
}

// addTraceFlags adds the options for the server's trace settings.
func (o *options) addTraceFlags(t table) {
	traces := client.TraceSettings{}
	set := func(name string, values ...string) {
		traces[name] = values
		o.config.Trace = traces
	}
	t.value("trace-level", "", "<OFF|TIMESTAMPS|TENSORS>", "trace level of the server during the measurement; may be repeated", func(text string) error {
		switch text {
		case "OFF", "TIMESTAMPS", "TENSORS":
			set("trace_level", append(traces["trace_level"], text)...)
			return nil
		}
		return fmt.Errorf("Failed to parse --trace-level. Unsupported type provided: '%s'. The available options are 'OFF', 'TIMESTAMPS', or 'TENSORS'.", text)
	})
	number := func(name, setting string, low int, want, usage string) {
		t.value(name, "", "<n>", usage, func(text string) error {
			n, err := integer("--"+name, text)
			switch {
			case err != nil:
				return err
			case n < low:
				return fmt.Errorf("Failed to parse --%s. The value must be %s", name, want)
			}
			set(setting, strconv.Itoa(n))
			return nil
		})
	}
	number("trace-rate", "trace_rate", 1, "> 0.", "trace every n-th request during the measurement")
	number("trace-count", "trace_count", -1, ">= 0 or set to -1 (default).", "maximum number of traces; -1 is no limit")
	number("log-frequency", "log_frequency", 0, ">= 0.", "traces in each file of the server")
}
