package server

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"

	"triton/server/httpapi"
	"triton/server/sagemaker"
	"triton/server/vertex"
)

// cloudFront serves the HTTP of a cloud platform.
type cloudFront struct {
	title  string
	server *httpapi.Standard
	lis    net.Listener
}

func (s *Server) newCloud(l net.Listener, title string, h http.Handler) front {
	o := httpapi.Options{Log: s.opts.Log, Linger: s.opts.HTTP.Linger}
	return &cloudFront{title, httpapi.NewStandard(h, o), &lastCall{Listener: l}}
}

// plainHTTP is the protocol's HTTP front end as the platforms see it: nobody's
// headers become parameters, and no browser calls.
func (s *Server) plainHTTP() http.Handler {
	o := s.httpOptions()
	o.Forward, o.Origins = nil, nil
	return httpapi.New(s.models, o)
}

func (s *Server) newSageMaker(l net.Listener, _ *tls.Config) (front, error) {
	o := &s.opts.SageMaker
	h, err := sagemaker.New(s.models, sagemaker.Options{
		HTTP: s.plainHTTP(), Repositories: s.models, Root: o.Root,
		DefaultModel: o.DefaultModel, PingMode: o.PingMode, InferenceType: o.InferenceType,
		Restricted: s.opts.HTTP.Restricted, Log: s.opts.Log,
	})
	s.addrs.SageMaker = l.Addr().String()
	return s.newCloud(l, "Sagemaker", h), err
}

func (s *Server) newVertex(l net.Listener, _ *tls.Config) (front, error) {
	o := &s.opts.Vertex
	var metrics http.Handler
	if s.opts.Metrics.Allow {
		// The endpoint starts later than this one.
		metrics = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.metrics.ServeHTTP(w, r) })
	}
	h, err := vertex.New(s.models, vertex.Options{
		HTTP: s.plainHTTP(), Metrics: metrics,
		PredictRoute: o.PredictRoute, HealthRoute: o.HealthRoute, DefaultModel: o.DefaultModel,
	})
	s.addrs.Vertex = l.Addr().String()
	return s.newCloud(l, "Vertex AI", h), err
}

func (f *cloudFront) name() string { return f.title }

func (f *cloudFront) serve() error { return served(f.server.Serve(f.lis)) }

func (f *cloudFront) drain(ctx context.Context) { _ = f.server.Drain(ctx) }

func (f *cloudFront) close(ctx context.Context) { shutdown(ctx, f.server, f.lis) }

func (f *cloudFront) waiting() (int64, string) { return 0, "" }
