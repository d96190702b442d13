package perf

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"triton/cmd/cli/machine"
	"triton/cmd/cli/process"
	"triton/perf"
	"triton/server"
)

// tritonCAPI is the kind of service that is a server in this process.
const tritonCAPI = "triton_c_api"

// addInProcessFlags adds the options of a server in this process.
func (o *options) addInProcessFlags(t table) {
	t.text(&o.repository, "model-repository", "", "<dir>", "model repository of the service kind triton_c_api")
	t.text(&o.serverDirectory, "triton-server-directory", "", "<dir>", "has no effect: the service kind triton_c_api runs the server of this program (/opt/tritonserver)")
}

// anyInProcess reports whether a model is measured on a server in this process.
func anyInProcess(all []*options) bool {
	return slices.ContainsFunc(all, func(o *options) bool { return o.config.ServiceKind == tritonCAPI })
}

// checkInProcess checks the options of a server in this process.
func checkInProcess(o *options) error {
	switch {
	case o.serverDirectory == "":
		return errors.New("--triton-server-path should not be empty when using service-kind=triton_c_api.")
	case o.repository == "":
		return errors.New("--model-repository should not be empty when using service-kind=triton_c_api.")
	case o.config.Memory == perf.CUDAMemory:
		return errors.New("--shared-memory cuda is between processes: it cannot be used with --service-kind triton_c_api, whose server is in this process.")
	case len(o.config.Trace) > 0:
		return errors.New("client backend of kind TRITON_C_API does not support UpdateTraceSettings API")
	}
	return nil
}

// startInProcess starts a server in this process. Its log goes to the standard error with -v -v.
func startInProcess(ctx context.Context, p process.Process, o *options) (perf.Target, error) {
	c := server.Default()
	c.Version = p.Version
	c.Backends = server.NewBackends(machine.ONNXRuntime(p, "", c.BackendDirectory))
	c.GPUs = machine.GPUs(p, nil)
	if o.verbose > 1 {
		c.Log = slog.New(slog.NewTextHandler(p.Stderr, nil))
	}
	opts := inProcessOptions{
		Server: c, Repository: o.repository, Model: o.config.Model, Version: o.config.Version, Streaming: o.config.Streaming,
	}
	for _, m := range o.config.Composing {
		opts.Composing = append(opts.Composing, m.Model)
	}
	return startServer(ctx, opts)
}
