package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"triton/pkg/status"
	"triton/server/connlimit"
)

// portServer is one service with a port.
type portServer interface {
	name() string
	// serve blocks until drain.
	serve() error
	// drain stops accepting connections and waits for the requests in flight,
	// until ctx ends. Requests that arrive on open connections meanwhile are
	// answered, unless the protocol lets the frontend first ask clients to use another
	// connection.
	drain(ctx context.Context)
	// close is called after drain, or while drain still waits, and closes the
	// idle connections. When ctx ends, it closes the remaining ones too.
	close(ctx context.Context)
	// waiting returns the number of requests or connections that a drain waits for, and
	// their noun.
	waiting() (n int64, what string)
}

// starter describes how one service starts.
type starter struct {
	Endpoint
	TLS         TLS
	alpn        []string // over TLS
	name        string   // of the service in errors
	logName     string   // of the service in the log
	newFrontend func(net.Listener, *tls.Config) (portServer, error)
}

// starters returns the services in the order in which Triton starts them.
func (s *Server) starters() []starter {
	o := &s.opts
	http := starter{o.HTTP.Endpoint, o.HTTP.TLS, []string{"http/1.1"}, "HTTP", "HTTPService", s.newHTTP}
	if o.OnePort {
		http.alpn, http.newFrontend = []string{"h2", "http/1.1"}, s.newOnePort
	}
	return []starter{
		{o.GRPC.Endpoint, o.GRPC.TLS, []string{"h2"}, "GRPC", "GRPCInferenceService", s.newGRPC},
		http,
		{o.Control, o.HTTP.TLS, []string{"http/1.1"}, "Control", "Control HTTPService", s.newControl},
		{o.SageMaker.Endpoint, TLS{}, nil, "Sagemaker", "Sagemaker HTTPService", s.newSageMaker},
		{o.Vertex.Endpoint, TLS{}, nil, "Vertex AI", "Vertex AI HTTPService", s.newVertex},
		{o.Metrics.Endpoint, o.Metrics.TLS, []string{"http/1.1"}, "Metrics", "Metrics Service", s.newMetrics},
	}
}

// checkTLS reads the certificates, so that a mistake shows before the models load,
// which may take long.
func (s *Server) checkTLS() error {
	for _, st := range s.starters() {
		if !st.Allow {
			continue
		}
		if _, err := st.config(); err != nil {
			return err
		}
	}
	return nil
}

// reservations are the reserved ports of services that do not listen yet, by the name of the service.
type reservations map[string]func()

// release lets a service listen at its port.
func (r reservations) release(name string) {
	if give := r[name]; give != nil {
		give()
		delete(r, name)
	}
}

func (r reservations) releaseAll() {
	for name := range r {
		r.release(name)
	}
}

// reservePorts binds the ports, so that one that is in use shows before the models load, which may take long.
func (s *Server) reservePorts() error {
	s.reserved = reservations{}
	for _, st := range s.starters() {
		if !st.Allow {
			continue
		}
		release, err := reserve(st.Endpoint, st.name)
		if err != nil {
			s.reserved.releaseAll()
			return err
		}
		s.reserved[st.name] = release
	}
	return nil
}

// config returns the TLS configuration, or nil without TLS.
func (st starter) config() (*tls.Config, error) {
	config, err := st.TLS.config(st.alpn...)
	if err != nil {
		return nil, startError(st.name, status.New(status.InvalidArg, "%w", err))
	}
	return config, nil
}

// open starts all services; their ports are open when it returns.
func (s *Server) open() ([]portServer, error) {
	s.connections = connlimit.New(maxConnections())
	var frontends []portServer
	for _, st := range s.starters() {
		if !st.Allow {
			continue
		}
		f, err := s.start(st)
		if err != nil {
			done, cancel := context.WithCancel(context.Background())
			cancel()
			for _, f := range frontends {
				f.drain(done)
				f.close(done)
			}
			return nil, err
		}
		frontends = append(frontends, f)
	}
	return frontends, nil
}

func (s *Server) start(st starter) (portServer, error) {
	config, err := st.config()
	if err != nil {
		return nil, err
	}
	s.reserved.release(st.name)
	l, err := listen(st.Endpoint, st.name)
	if err != nil {
		return nil, err
	}
	f, err := st.newFrontend(l, config)
	if err != nil {
		_ = l.Close()
		return nil, startError(st.name, err)
	}
	s.opts.Log.Info("Started " + st.logName + " at " + l.Addr().String())
	return f, nil
}

// startError returns Triton's error for a service that cannot start.
func startError(name string, err error) error {
	return fmt.Errorf("failed to start %s service: %w", name, consoleError{status.From(err)})
}
