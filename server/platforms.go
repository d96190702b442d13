package server

import (
	"crypto/tls"
	"net"

	"triton/server/http1"
	"triton/server/httpapi"
	"triton/server/platform"
)

// newPlatformFrontend makes the frontend of a cloud platform. It is drained like the other
// frontends, but has no limit of connections.
func (s *Server) newPlatformFrontend(l net.Listener, title string, h http1.Handler) portServer {
	o := s.connectionOptions()
	o.MaxConnections = 0
	return &httpFrontend{title: title, server: http1.NewServer(h, o), lis: &drainingListener{Listener: l}}
}

// plainHTTP returns the KServe API for the platforms: without browsers.
func (s *Server) plainHTTP() http1.Handler {
	o := s.dataOptions()
	o.Origins = nil
	return httpapi.New(s.service, o)
}

func (s *Server) newSageMaker(l net.Listener, _ *tls.Config) (portServer, error) {
	o := &s.opts.SageMaker
	h, err := platform.NewSageMaker(s.service, platform.SageMakerOptions{
		HTTP: s.plainHTTP(), Repositories: s.models, Root: o.Root,
		DefaultModel: o.DefaultModel, PingMode: o.PingMode, InferenceType: o.InferenceType,
		Restricted: s.opts.HTTP.Restricted, Guard: s.guard, RefuseControl: s.opts.Control.Allow, Memory: s.requestMemory.budget, Log: s.opts.Log,
	})
	s.addrs.SageMaker = l.Addr().String()
	return s.newPlatformFrontend(l, "Sagemaker", h), err
}

func (s *Server) newVertex(l net.Listener, _ *tls.Config) (portServer, error) {
	o := &s.opts.Vertex
	var metrics http1.Handler
	if s.opts.Metrics.Allow {
		// The metrics endpoint starts later.
		metrics = http1.HandlerFunc(func(x *http1.Exchange) { s.metrics.Serve(x) })
	}
	h, err := platform.NewVertex(s.service, platform.VertexOptions{
		HTTP: s.plainHTTP(), Metrics: metrics,
		PredictRoute: o.PredictRoute, HealthRoute: o.HealthRoute, DefaultModel: o.DefaultModel,
	})
	s.addrs.Vertex = l.Addr().String()
	return s.newPlatformFrontend(l, "Vertex AI", h), err
}
