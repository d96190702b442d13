package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"triton/server/http1"
	"triton/server/httpapi"
)

// httpFrontend serves HTTP.
type httpFrontend struct {
	title  string
	server *http1.Server
	lis    net.Listener
	// connectionNoun names the connections in the message of a drain; empty: they are not
	// counted.
	connectionNoun string
}

func (s *Server) newHTTP(l net.Listener, config *tls.Config) (portServer, error) {
	s.addrs.HTTP = l.Addr().String()
	return &httpFrontend{
		title: "HTTP", connectionNoun: "HTTP service connections",
		server: http1.NewServer(httpapi.New(s.service, s.dataOptions()), s.connectionOptions()),
		lis:    withTLS(&drainingListener{Listener: l}, config),
	}, nil
}

func (s *Server) connectionOptions() http1.Options {
	o := &s.opts.HTTP
	return http1.Options{Log: s.opts.Log, IdleGrace: o.IdleGrace, MinRate: o.MinRate, MaxConnections: o.MaxConnections, Limit: s.connections}
}

// httpOptions returns the options of the KServe API for every frontend.
func (s *Server) httpOptions() httpapi.Options {
	o := &s.opts.HTTP
	return httpapi.Options{
		Pool: s.pool, Memory: s.requestMemory.budget, Log: s.opts.Log, MaxInput: o.MaxInput,
		MaxUnread: int(s.opts.StreamBacklog),
		Regions:   s.regions, Tracer: s.tracer, Logs: s.opts.Logs, AccessLog: s.opts.AccessLog, Metrics: prometheus.GathererFunc(s.gatherModels), Readiness: s.readiness, State: s,
		Restricted: o.Restricted, Forward: o.Forward, Origins: o.Origins,
		Traffic: s.traffic, Guard: s.guard,
	}
}

// withTLS returns a listener with TLS, or l itself if config is nil.
func withTLS(l net.Listener, config *tls.Config) net.Listener {
	if config == nil {
		return l
	}
	return tls.NewListener(l, config)
}

func (f *httpFrontend) name() string { return f.title }

func (f *httpFrontend) serve() error { return ignoreClosed(f.server.Serve(f.lis)) }

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// leave asks the clients of idle and of new connections to use another server.
func (f *httpFrontend) leave() { f.server.Leave() }

func (f *httpFrontend) drain(ctx context.Context) { _ = f.server.Drain(ctx) }

func (f *httpFrontend) close(ctx context.Context) { shutdown(ctx, f.server, f.lis) }

// shutdown waits for the requests of a server until ctx ends, then cuts them off.
func shutdown(ctx context.Context, s *http1.Server, l net.Listener) {
	if s.Shutdown(ctx) != nil {
		_ = s.Close()
	}
	_ = l.Close() // a server that was never started has not closed it
	_ = l.Close() // the first Close of a drainingListener only starts to drain it
}

func (f *httpFrontend) waiting() (int64, string) {
	if f.connectionNoun == "" {
		return 0, ""
	}
	return f.server.Connections(), f.connectionNoun
}

// newControl makes the frontend of the calls that concern the operation of the server. It
// answers the others too, so that a tool needs one address.
func (s *Server) newControl(l net.Listener, config *tls.Config) (portServer, error) {
	s.addrs.Control = l.Addr().String()
	o := s.httpOptions()
	o.Origins = nil // it is not for browsers
	c := s.connectionOptions()
	c.Reserved = true
	return &httpFrontend{
		title:  "Control",
		server: http1.NewServer(httpapi.New(s.service, o), c),
		lis:    withTLS(&drainingListener{Listener: l}, config),
	}, nil
}

// dataOptions are the options of the ports other than that for control.
func (s *Server) dataOptions() httpapi.Options {
	o := s.httpOptions()
	o.RefuseControl = s.opts.Control.Allow
	return o
}
