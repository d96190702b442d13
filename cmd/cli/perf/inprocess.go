package perf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"triton/cmd/cli/devices"
	"triton/cmd/cli/library"
	"triton/cmd/cli/perf/inprocess"
	"triton/cmd/cli/process"
	"triton/perf"
	"triton/server"
)

// tritonCAPI is the kind of service that is a server in this process.
const tritonCAPI = "triton_c_api"

// inProcess adds the options of a server in this process.
func (o *options) inProcess(t table) {
	t.text(&o.repository, "model-repository", "", "<dir>", "model repository of the service kind triton_c_api")
	t.text(&o.serverDirectory, "triton-server-directory", "", "<dir>", "has no effect: the service kind triton_c_api runs the server of this program (/opt/tritonserver)")
}

// checkInProcess checks the options of a server in this process.
func (o *options) checkInProcess() error {
	if o.config.ServiceKind != tritonCAPI {
		if o.repository != "" {
			return errors.New("--model-repository needs --service-kind triton_c_api.")
		}
		return nil
	}
	switch {
	case o.serverDirectory == "":
		return errors.New("--triton-server-path should not be empty when using service-kind=triton_c_api.")
	case o.repository == "":
		return errors.New("--model-repository should not be empty when using service-kind=triton_c_api.")
	case o.config.Memory == perf.CUDAMemory:
		return errors.New("--shared-memory cuda is between processes: it cannot be used with --service-kind triton_c_api, whose server is in this process.")
	case len(o.config.Trace) > 0:
		return errors.New("client backend of kind TRITON_C_API does not support UpdateTraceSettings API")
	case o.config.CollectMetrics:
		return errors.New("Server-side metric collection is only supported with Triton client backend.")
	}
	return nil
}

// startInProcess starts a server in this process. Its log goes to the standard error with -v -v.
func (o *options) startInProcess(ctx context.Context, p process.Process) (perf.Target, error) {
	c := server.Default()
	c.Version = p.Version
	c.Backends = server.NewBackends(library.Search(p, "", c.BackendDirectory))
	c.GPUs = devices.Environment(p, nil)
	if o.verbose > 1 {
		c.Log = slog.New(slog.NewTextHandler(p.Stderr, nil))
	}
	opts := inprocess.Options{
		Server: c, Repository: o.repository, Model: o.config.Model, Version: o.config.Version, Streaming: o.config.Streaming,
	}
	for _, m := range o.config.Composing {
		opts.Composing = append(opts.Composing, m.Model)
	}
	return inprocess.Start(ctx, opts)
}

func (o *options) setServiceKind(text string) error {
	switch text {
	case "triton", tritonCAPI:
		o.config.ServiceKind = text
		return nil
	case "openai", "tfserving", "torchserve", "dynamic_grpc":
		return fmt.Errorf("--service-kind %s is not supported yet, only triton and triton_c_api", text)
	}
	return fmt.Errorf("Failed to parse --service-kind. Unsupported type provided: '%s'. The available options are 'triton', 'tfserving', 'torchserve', or 'triton_c_api'.", text)
}
