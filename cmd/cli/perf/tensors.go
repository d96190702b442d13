package perf

import (
	"fmt"
	"strings"

	"triton/perf"
	"triton/pkg/client"
)

// addTensorFlags adds the options that say how tensors travel: their form and shared memory.
func (o *options) addTensorFlags(t table) {
	c := &o.config
	t.value("shared-memory", "", "<none|system|cuda>", "memory of inputs and outputs that the server, on this machine, shares: POSIX shared memory or GPU 0 (none)", func(text string) error {
		switch text {
		case "none":
			c.Memory = perf.InMessages
		case "system":
			c.Memory = perf.SystemMemory
		case "cuda":
			c.Memory = perf.CUDAMemory
		default:
			return fmt.Errorf("Failed to parse --shared-memory. Unsupported type provided: '%s'. The available options are 'system', 'cuda', or 'none'.", text)
		}
		return nil
	})
	t.integer(&c.OutputMemory, 0, ">= 0.", "output-shared-memory-size", "", "<bytes>", "shared memory for each item of an output of strings or of variable shape (102400)")
	t.value("input-tensor-format", "", "<binary|json>", "form of the inputs in HTTP requests (binary)", func(text string) error {
		return tensorFormat(&o.jsonInputs, "--input-tensor-format", text)
	})
	t.value("output-tensor-format", "", "<binary|json>", "form of the outputs in HTTP responses (binary)", func(text string) error {
		return tensorFormat(&o.jsonOutputs, "--output-tensor-format", text)
	})
}

func tensorFormat(json *bool, option, text string) error {
	switch strings.ToLower(text) {
	case "binary":
		*json = false
	case "json":
		*json = true
	default:
		return fmt.Errorf("Failed to parse %s. Unsupported type provided: '%s'. The available options are 'binary' or 'json'.", option, text)
	}
	return nil
}

// checkTensors drops the form of tensors where perf_analyzer ignores it.
func (o *options) checkTensors() {
	if !o.jsonInputs && !o.jsonOutputs {
		return
	}
	switch {
	case o.client.Protocol == client.GRPC:
		o.warnOwn("WARNING: --input-tensor-format and --output-tensor-format have no effect with gRPC, whose tensors are binary.")
		o.jsonInputs, o.jsonOutputs = false, false
	case o.config.Memory != perf.InMessages:
		o.warnOwn("WARNING: --input-tensor-format and --output-tensor-format have no effect on tensors in shared memory.")
	}
}
