package perf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/perf"
	"triton/perf/data"
	"triton/perf/service"
	"triton/pkg/client"
	"triton/pkg/client/lane"
)

// serviceKind is a kind of server.
type serviceKind struct {
	http, grpc string // default ports
	// models is set if the server describes its models and has parameters of requests and trace
	// settings, as Triton does.
	models bool
	// derive sets the options that the kind decides; may be nil.
	derive func(o *options)
	// check returns the first option that the kind contradicts; may be nil.
	check func(o *options) error
	dial  func(ctx context.Context, p process.Process, o *options) (perf.Target, error)
}

// triton is the default kind.
const triton = "triton"

// services are the kinds of servers by their names in perf_analyzer.
var services = map[string]serviceKind{
	triton:     {http: "8000", grpc: "8001", models: true, dial: connect},
	tritonCAPI: {http: "8000", grpc: "8001", models: true, check: checkInProcess, dial: startInProcess},
	"openai": {http: "8000", grpc: "8000", check: checkOpenAI, dial: func(_ context.Context, _ process.Process, o *options) (perf.Target, error) {
		return service.NewOpenAI(service.OpenAIOptions{Options: o.client, Endpoint: o.endpoint})
	}},
	"tfserving": {http: "8000", grpc: "8500", check: checkTFServing, dial: func(_ context.Context, _ process.Process, o *options) (perf.Target, error) {
		return service.NewTFServing(service.TFServingOptions{Options: o.client, Signature: o.signature, Compression: o.compression})
	}},
	"torchserve": {http: "8000", grpc: "8000", check: checkTorchServe, dial: func(_ context.Context, _ process.Process, o *options) (perf.Target, error) {
		return service.NewTorchServe(o.client)
	}},
	"dynamic_grpc": {http: "8001", grpc: "8001", derive: deriveDynamicGRPC, check: checkDynamicGRPC, dial: func(_ context.Context, _ process.Process, o *options) (perf.Target, error) {
		return service.NewDynamicGRPC(service.DynamicGRPCOptions{Options: o.client, Method: o.method, Compression: o.compression})
	}},
}

// addServiceFlags adds the options that choose and describe the kind of the server.
func (o *options) addServiceFlags(t table) {
	t.value("service-kind", "", "<triton|triton_c_api|openai|tfserving|torchserve|dynamic_grpc>", "kind of server; triton_c_api is a server in this process (triton)", o.setServiceKind)
	o.addInProcessFlags(t)
	t.text(&o.endpoint, "endpoint", "", "<path>", "path of requests to a server of the kind openai, such as v1/chat/completions")
	t.text(&o.signature, "model-signature-name", "", "<name>", "signature of a model of TensorFlow Serving (serving_default)")
	t.value("grpc-method", "", "<package.service/method>", "method to call on a server of the kind dynamic_grpc", func(text string) error {
		if parts := strings.Split(text, "/"); len(parts) != 2 || slices.Contains(parts, "") {
			return fmt.Errorf("Received gRPC method name '%s' that does not match the format: <package>.<service>/<method>.", text)
		}
		o.method = text
		return nil
	})
}

func (o *options) setServiceKind(text string) error {
	if _, ok := services[text]; !ok {
		return fmt.Errorf("Failed to parse --service-kind. Unsupported type provided: '%s'. The available options are 'triton', 'tfserving', 'torchserve', or 'triton_c_api'.", text)
	}
	o.config.ServiceKind = text
	return nil
}

// setAddress sets the default address of the kind, after what the kind decides.
func (o *options) setAddress() {
	kind := services[o.config.ServiceKind]
	if kind.derive != nil {
		kind.derive(o)
	}
	port := kind.http
	if o.client.Protocol == client.GRPC {
		port = kind.grpc
	}
	o.client.Address = flags.WithPort(cmp.Or(o.client.Address, "localhost"), port)
}

// checkService checks the options against the kind.
func (o *options) checkService() error {
	c := &o.config
	kind := services[c.ServiceKind]
	if kind.check != nil {
		if err := kind.check(o); err != nil {
			return err
		}
	}
	for _, wrong := range []struct {
		violated bool
		text     string
	}{
		{c.ServiceKind != tritonCAPI && o.repository != "", "--model-repository needs --service-kind triton_c_api."},
		{c.ServiceKind != triton && c.CollectMetrics, "Server-side metric collection is only supported with Triton client backend."},
		{c.ServiceKind != triton && len(c.Trace) > 0, "The trace options are only supported with --service-kind triton."},
		{!kind.models && len(c.Composing) > 0, "--bls-composing-models is only supported with --service-kind triton and triton_c_api."},
		{!kind.models && len(c.Parameters) > 0, "--request-parameter is only supported with --service-kind triton and triton_c_api."},
		{!kind.models && c.Memory != perf.InMessages, "--shared-memory is only supported with --service-kind triton and triton_c_api."},
		{c.ServiceKind != "openai" && c.Mode == perf.Sessions, perf.ErrSessions.Error()},
	} {
		if wrong.violated {
			return errors.New(wrong.text)
		}
	}
	return nil
}

// dial returns perf.Deps.Dial for the kind of the server.
func (o *options) dial(p process.Process) func(context.Context) (perf.Target, error) {
	return func(ctx context.Context) (perf.Target, error) { return services[o.config.ServiceKind].dial(ctx, p, o) }
}

func connect(_ context.Context, _ process.Process, o *options) (perf.Target, error) {
	return perf.Connect(lane.Options{
		Options: o.client, Streaming: o.config.Streaming, Compression: o.compression,
		JSONInputs: o.jsonInputs, JSONOutputs: o.jsonOutputs,
	})
}

func (o *options) hasData() bool {
	return o.config.Data.Source == data.Files && len(o.config.Data.Paths) > 0
}

func checkOpenAI(o *options) error {
	switch {
	case !o.hasData():
		return errors.New("Must supply --input-data for OpenAI service kind.")
	case o.endpoint == "":
		return errors.New(`Must supply --endpoint for OpenAI service kind. For example, "v1/chat/completions".`)
	case !o.config.Async:
		return errors.New("Only async mode is currently supported for OpenAI service-kind")
	case slices.Max(o.config.Batches) > 1:
		return errors.New("Batching is not currently supported with OpenAI service-kind")
	}
	return nil
}

func checkTFServing(o *options) error {
	switch {
	case o.client.Protocol != client.GRPC:
		return errors.New("perf_analyzer supports only grpc protocol for TensorFlow Serving.")
	case o.config.Streaming:
		return errors.New("perf_analyzer does not support streaming for TensorFlow Serving.")
	case o.config.Async:
		return errors.New("perf_analyzer does not support async API for TensorFlow Serving.")
	}
	return nil
}

func checkTorchServe(o *options) error {
	switch {
	case !o.hasData():
		return errors.New("--input-data should be provided with a json file with input data for torchserve.")
	case o.config.Async:
		return errors.New("client backend of kind TORCHSERVE does not support AsyncInfer API")
	}
	return nil
}

// deriveDynamicGRPC sets the protocol. The model has no meaning, but reports name one.
func deriveDynamicGRPC(o *options) {
	o.client.Protocol = client.GRPC
	o.config.Model = cmp.Or(o.config.Model, o.method, o.config.ServiceKind)
}

func checkDynamicGRPC(o *options) error {
	switch {
	case o.method == "":
		return errors.New("Must supply --grpc-method for Dynamic gRPC service kind, such as package.Service/Method.")
	case o.config.Async:
		return errors.New("Dynamic gRPC client only supports synchronous RPCs at the moment.")
	case !o.hasData():
		return errors.New("Must supply --input-data to provide input data stream for streaming Dynamic gRPC service.")
	}
	o.config.Streaming = false // each request is a stream of its own
	return nil
}
