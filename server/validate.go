package server

import (
	"errors"
	"fmt"
	"slices"

	"triton/pkg/tensor"
	"triton/server/grpcapi"
	"triton/server/repository"
)

// Validate returns all mistakes in the options.
func (o *Options) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(o.LoadThreads < 1, "model load thread count is %d, must be at least 1", o.LoadThreads)
	for flag, n := range map[string]int64{
		"instances of a model": o.Bounds.Instances, "threads of a parameter": o.Bounds.Threads,
		"warm-up requests": o.Bounds.WarmUpRequests, "bytes of a warm-up": o.Bounds.WarmUpBytes, "bytes of states": o.Bounds.StateBytes,
	} {
		bad(n < 0, "the maximum number of %s is %d, must not be negative", flag, n)
	}
	bad(o.ExitTimeout < 0, "exit timeout is %v, must not be negative", o.ExitTimeout)
	bad(o.DrainDelay < 0, "drain delay is %v, must not be negative", o.DrainDelay)
	bad(o.StreamBacklog <= 0, "stream backlog is %d bytes, must be positive", o.StreamBacklog)
	bad(o.HTTP.MaxInput <= 0, "HTTP input size limit is %d, must be positive", o.HTTP.MaxInput)
	bad(o.HTTP.MinRate < 0, "HTTP minimum receive rate is %d, must not be negative", o.HTTP.MinRate)
	bad(o.HTTP.MaxConnections < 0, "HTTP connection limit is %d, must not be negative", o.HTTP.MaxConnections)
	bad(o.Metrics.Interval <= 0, "metrics interval is %v, must be positive", o.Metrics.Interval)
	bad(o.Models.PollInterval < 0, "poll interval is %v, must not be negative", o.Models.PollInterval)
	bad(o.Models.SettleTime < 0, "settle time is %v, must not be negative", o.Models.SettleTime)
	bad(o.Models.Retries < 0, "model load retry count is %d, must not be negative", o.Models.Retries)
	if st := &o.State; st.From != "" {
		bad(st.Interval <= 0, "state interval is %v, must be positive", st.Interval)
		bad(o.Models.Control == repository.ControlPoll, "a desired state and model control mode poll exclude each other")
		bad(len(o.Models.Startup) > 0, "a desired state and startup models exclude each other")
		bad(o.Models.Namespacing, "a desired state names models without their repositories: it excludes model namespacing")
	} else {
		bad(st.Write, "there is no desired state to write to")
	}
	bad(o.Log == nil, "no logger")
	if o.OnePort {
		bad(!o.HTTP.Allow || !o.GRPC.Allow, "--http-grpc-one-port needs --allow-http and --allow-grpc")
		bad(o.GRPC.Frontend.Transport != grpcapi.TransportBuiltin, "--http-grpc-one-port needs --grpc-transport=builtin: grpc-go serves no other protocol at its port")
		bad(o.GRPC.TLS.Allow && o.GRPC.TLS != o.HTTP.TLS, "--http-grpc-one-port: the port has the encryption of HTTP: use --http-use-ssl and its certificates instead of --grpc-use-ssl")
	}
	if err := o.Models.validate(); err != nil {
		errs = append(errs, err)
	}
	limits := o.GRPC.Frontend
	limits.Pool = tensor.NewPool() // New sets the one in use
	if err := limits.Validate(); err != nil {
		errs = append(errs, err)
	}
	services := o.services()
	for _, a := range services {
		bad(a.at.Port < 0 || a.at.Port > 65535, "%s port is %d, must be from 0 to 65535", a.name, a.at.Port)
	}
	if err := collision(services); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// collision returns an error for the first two services that use the same address, in
// Triton's order and words.
func collision(services []service) error {
	for i, a := range services {
		others := services[i+1:]
		if a.safe != nil {
			others = slices.Concat(services[:i], others)
		}
		for _, b := range others {
			switch {
			case a.at.Address != b.at.Address:
			case a.safe != nil && (b.at.Port < a.safe[0] || b.at.Port > a.safe[1]):
				return fmt.Errorf("The server cannot listen to %s requests at port %d, allowed port range is [%d, %d]", //nolint:staticcheck // Triton's text
					b.name, b.at.Port, a.safe[0], a.safe[1])
			case a.at.Port != 0 && a.at.Port == b.at.Port, a.at.unix():
				return fmt.Errorf("The server cannot listen to %s requests and %s requests at the same address and port %s", //nolint:staticcheck // Triton's text
					a.name, b.name, a.at)
			}
		}
	}
	return nil
}

type service struct {
	name string
	at   Endpoint
	safe *[2]int // ports that other services may use; nil: any
}

func (o *Options) services() []service {
	metrics := o.Metrics.Endpoint
	if metrics.Address == "" {
		metrics.Address = o.metricsAddress()
	}
	var all []service
	for _, s := range []service{
		{"HTTP", o.HTTP.Endpoint, nil},
		{"control", o.Control, nil},
		{"GRPC", o.GRPC.Endpoint, nil},
		{"metrics", metrics, nil},
		{"SageMaker", o.SageMaker.Endpoint, o.SageMaker.SafePorts},
		{"Vertex AI", o.Vertex.Endpoint, nil},
	} {
		if s.at.Allow && (!o.OnePort || s.name != "GRPC") {
			all = append(all, s)
		}
	}
	return all
}
