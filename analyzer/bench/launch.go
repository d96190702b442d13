// Package bench starts the servers that an analysis measures, puts load on them, and watches devices, processes and
// the server's own metrics meanwhile. A server is a child process, a container, or one that runs already; the load
// generator is perf_analyzer or one that the caller supplies.
package bench

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"time"
)

// Server is a running server.
type Server interface {
	Endpoints() Endpoints
	// PIDs returns the processes whose memory counts, with their descendants; none if the server is
	// not on this machine.
	PIDs() []int
	// Done is closed when the server has ended; Err then returns the reason.
	Done() <-chan struct{}
	Err() error
	// Close stops the server and waits until it has ended.
	Close() error
}

// Endpoints are the addresses of a server.
type Endpoints struct {
	HTTP, GRPC string // host:port
	Metrics    string // URL
}

// Setup describes a server to launch.
type Setup struct {
	Repository string   // of the models; empty for that of the launcher
	Model      string   // must be ready too; empty for a server without models
	Flags      []string // of tritonserver, with their dashes
	// Env has additional environment variables. References to other variables such as $HOME are
	// expanded.
	Env map[string]string
	// Container has arguments of Docker's Python library, of type bool, int64, string or []string.
	// Other launchers ignore them.
	Container map[string]any
}

// Launcher starts servers.
type Launcher interface {
	// Launch returns when the server is ready, or an error with the server's last output.
	Launch(ctx context.Context, s Setup) (Server, error)
}

// CommonFlags are the flags of every server of a profile: it loads models one by one, and measures itself often
// enough.
func CommonFlags(interval time.Duration) []string {
	return []string{
		"--model-control-mode=explicit",
		fmt.Sprintf("--metrics-interval-ms=%d", max(1, interval.Milliseconds())),
	}
}

// Ports returns the ports of the endpoints of a local server for Local.Ports and its likes.
func Ports(at Endpoints) ([]string, error) {
	metrics, err := url.Parse(at.Metrics)
	if err != nil {
		return nil, fmt.Errorf("metrics URL: %w", err)
	}
	ports := make([]string, 0, 3)
	for _, address := range []string{at.HTTP, at.GRPC, metrics.Host} {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("endpoint %q is not HOST:PORT: %w", address, err)
		}
		ports = append(ports, port)
	}
	return ports, nil
}

// Running is a server that someone else runs.
type Running struct{ At Endpoints }

var (
	_ Launcher = Running{}
	_ Server   = (*running)(nil)
)

// Launch returns the server. It does not wait for it.
func (r Running) Launch(context.Context, Setup) (Server, error) {
	return &running{r.At, make(chan struct{})}, nil
}

type running struct {
	at   Endpoints
	done chan struct{} // never closed: nobody tells when the server ends
}

func (r *running) Endpoints() Endpoints  { return r.at }
func (r *running) PIDs() []int           { return nil }
func (r *running) Done() <-chan struct{} { return r.done }
func (r *running) Err() error            { return nil }
func (r *running) Close() error          { return nil }

// None is for load generators that load the server into their own process.
type None struct {
	// PIDs returns the processes of the load generator.
	PIDs func() []int
}

var _ Launcher = None{}

// Launch returns a server without endpoints.
func (n None) Launch(context.Context, Setup) (Server, error) {
	return &inGenerator{running: running{done: make(chan struct{})}, pids: n.PIDs}, nil
}

type inGenerator struct {
	running
	pids func() []int
}

func (e *inGenerator) PIDs() []int { return e.pids() }
