package server

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"

	"triton/server/access"
	"triton/server/repository"
)

// openGuard reads the rules of who may do what, and warns of what anybody may do.
func (s *Server) openGuard() error {
	guard, err := access.New(s.opts.Guard, s.opts.Log)
	if err != nil {
		return fmt.Errorf("failed to configure access: %w", err)
	}
	s.guard = guard
	for _, text := range s.opts.unsafe() {
		s.opts.Log.Warn(text)
	}
	return nil
}

// runGuard keeps the rules as their files are until the returned function is called.
func (s *Server) runGuard() (stop func()) {
	if s.guard == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.guard.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

func (s *Server) closeGuard() {
	if err := s.guard.Close(); err != nil {
		s.opts.Log.Error("the audit log cannot be closed", "error", err)
	}
}

// local reports whether only this machine can reach the address.
func (e *Endpoint) local() bool {
	if e.Inherited != nil {
		return isLocal(e.Inherited.Addr())
	}
	ip := net.ParseIP(e.Address)
	return e.unix() || e.Address == "localhost" || ip != nil && ip.IsLoopback()
}

// isLocal reports whether only this machine can reach a listener's address.
func isLocal(at net.Addr) bool {
	host, _, _ := net.SplitHostPort(at.String())
	ip := net.ParseIP(host)
	return at.Network() == "unix" || ip != nil && ip.IsLoopback()
}

// unsafe describes what anybody who reaches the ports may do. Each danger is one text.
func (o *Options) unsafe() (texts []string) {
	open := o.exposed(func(TLS) bool { return true })
	if !o.Guard.Checks() && open != "" {
		texts = append(texts, open+" without access control: anybody who reaches the ports may call them. See --access-policy and --api-keys.")
		if o.Models.Control == repository.ControlExplicit {
			texts = append(texts, "clients may load and unload models without access control; whoever loads a model runs its code. See --access-policy or --control-http-port.")
		}
		if o.ClientSharedMemory {
			texts = append(texts, "clients may register shared memory without access control, and read and write the memory of others. See --access-policy or --control-http-port.")
		}
	}
	if plain := o.exposed(func(t TLS) bool { return !t.Allow }); (o.Guard.Keys != "" || o.Guard.Tokens.Keys != "") && plain != "" {
		texts = append(texts, plain+" without encryption: API keys and tokens can be read on the way. See --http-use-ssl and --grpc-use-ssl, unless something in front encrypts.")
	}
	return texts
}

// exposed names the services that other machines can reach and whose TLS matches; empty
// without any.
func (o *Options) exposed(match func(TLS) bool) string {
	metrics := o.Metrics.Endpoint
	if metrics.Address == "" {
		metrics.Address = o.metricsAddress()
	}
	var names []string
	for _, s := range []struct {
		name string
		at   Endpoint
		tls  TLS
	}{
		{"HTTP", o.HTTP.Endpoint, o.HTTP.TLS},
		{"gRPC", o.GRPC.Endpoint, o.GRPC.TLS},
		{"metrics", metrics, o.Metrics.TLS},
		{"control", o.Control, o.HTTP.TLS},
		{"SageMaker", o.SageMaker.Endpoint, TLS{}},
		{"Vertex AI", o.Vertex.Endpoint, TLS{}},
	} {
		if s.at.Allow && !s.at.local() && match(s.tls) {
			names = append(names, s.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "other machines can reach " + strings.Join(names, ", ")
}
