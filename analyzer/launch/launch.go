// Package launch starts the servers that a profile measures: child processes, containers, or none if
// there is a server already.
package launch

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"triton/analyzer"
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

// Setup describes a server to launch, without models.
type Setup struct {
	Flags []string // of tritonserver, with their dashes
	// Env has additional environment variables. References to other variables such as $HOME are
	// expanded.
	Env map[string]string
	// Container has arguments of Docker's Python library, of type bool, int64, string or []string.
	// Other launchers ignore them.
	Container map[string]any
}

// Launcher starts servers.
type Launcher interface {
	// Launch returns when the server is ready to load models, or an error with the server's last
	// output.
	Launch(ctx context.Context, s Setup) (Server, error)
}

// Local launches servers as child processes on loopback addresses.
type Local struct {
	Command    []string // the program with its first arguments, such as "triton serve"
	Repository string
	Env        []string // "KEY=value"
	// Devices limits the devices of the server by UUID: none if it is empty, all if it is nil.
	Devices []string
	// Ports are the ports of HTTP, gRPC and metrics; nil for free ones.
	Ports           []string
	MetricsInterval time.Duration
	ReadyTimeout    time.Duration
	Log             io.Writer // of the servers; may be nil
}

var _ Launcher = Local{}

// stopTimeout is the time that a server gets to stop, as in Model Analyzer.
const stopTimeout = 5 * time.Second

// Launch starts a server in explicit model control, so that it has no models.
func (l Local) Launch(ctx context.Context, s Setup) (Server, error) {
	if err := l.portsFree(ctx); err != nil {
		return nil, err
	}
	command := slices.Concat(l.Command, commonFlags(l.MetricsInterval), s.Flags)
	launcher := analyzer.ProcessLauncher{
		Command: command, Env: environment(l.Env, l.Devices, s.Env), Ports: l.Ports, Log: l.Log,
		ReadyTimeout: l.ReadyTimeout, StopTimeout: stopTimeout,
	}
	started, err := launcher.Launch(ctx, analyzer.Setup{Repository: l.Repository})
	if err != nil {
		return nil, err
	}
	return child{started}, nil
}

// Overlapping reports whether each server has ports of its own, so that one may stop while the next
// one runs.
func (l Local) Overlapping() bool { return l.Ports == nil }

// commonFlags are the flags of every launched server.
func commonFlags(interval time.Duration) []string {
	return []string{
		"--model-control-mode=explicit",
		fmt.Sprintf("--metrics-interval-ms=%d", max(1, interval.Milliseconds())),
	}
}

// portsFree keeps a foreign server on fixed ports from being measured.
func (l Local) portsFree(ctx context.Context) error {
	for _, port := range l.Ports {
		var lc net.ListenConfig
		listener, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			return fmt.Errorf("Another application (likely a Triton Server) is already using the desired port. "+ //nolint:staticcheck // Model Analyzer's text
				"In this mode the analyzer starts a server of its own: stop the other one, or choose other endpoints: %w", err)
		}
		if err := listener.Close(); err != nil {
			return err
		}
	}
	return nil
}

// environment returns the environment of a server.
func environment(base, devices []string, more map[string]string) []string {
	env := slices.Clone(base)
	lookup := func(key string) string {
		for _, e := range slices.Backward(base) {
			if k, v, _ := strings.Cut(e, "="); k == key {
				return v
			}
		}
		return ""
	}
	keys := make([]string, 0, len(more))
	for k := range more {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		env = append(env, k+"="+os.Expand(more[k], lookup))
	}
	if devices != nil {
		env = append(env, "CUDA_VISIBLE_DEVICES="+strings.Join(devices, ","))
	}
	return env
}

// child is a server in a child process.
type child struct{ analyzer.Server }

func (c child) Endpoints() Endpoints {
	at := c.Server.Endpoints()
	return Endpoints{HTTP: at.HTTP, GRPC: at.GRPC, Metrics: "http://" + at.Metrics + "/metrics"}
}

func (c child) PIDs() []int { return []int{c.PID()} }

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
	return &embedded{running: running{done: make(chan struct{})}, pids: n.PIDs}, nil
}

type embedded struct {
	running
	pids func() []int
}

func (e *embedded) PIDs() []int { return e.pids() }
