package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"triton/pkg/freeport"
)

const (
	pollEvery            = 20 * time.Millisecond // while a server starts
	maxPollsWithoutModel = 50                    // polls of a live server without its model
	maxOutput            = 16 << 10              // bytes of the server's last output
	maxLaunches          = 3
	portTakenText        = "already in use" // in the messages of our server, of NVIDIA's and of the system
	defaultReadyTimeout  = 2 * time.Minute
	defaultStopTimeout   = 15 * time.Second
	waitDelay            = 2 * time.Second // while a grandchild keeps the output open
)

// Local launches servers as child processes on loopback addresses. On Linux the kernel kills them when this
// process ends, even if it is killed.
type Local struct {
	// Command is the program with its first arguments, such as "triton serve". The flags of the setup, the
	// repository and the ports are added as Triton's flags.
	Command    []string
	Repository string
	Env        []string // "KEY=value"; nil for this process's own
	// Devices limits the devices of the server by UUID: none if it is empty, all if it is nil.
	Devices      []string
	Ports        []string      // of HTTP, gRPC and metrics; nil for free ones
	ReadyTimeout time.Duration // time limit of the start; 0 means two minutes
	StopTimeout  time.Duration // time that a server gets to stop before it is killed; 0 means 15 s
	Log          io.Writer     // also receives the output of the servers; may be nil
}

var _ Launcher = Local{}

// Launch starts a server and waits until it and its model are ready.
func (l Local) Launch(ctx context.Context, s Setup) (Server, error) {
	if err := l.portsFree(ctx); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		c, err := l.start(s)
		if err != nil {
			return nil, err
		}
		err = l.await(ctx, c, s.Model)
		if err == nil {
			return c, nil
		}
		portTaken := c.ended() && strings.Contains(c.output.String(), portTakenText)
		c.Close()
		if !portTaken || l.Ports != nil || try == maxLaunches {
			return nil, err
		}
	}
}

// Overlapping reports whether each server has ports of its own, so that one may stop while the next
// one runs.
func (l Local) Overlapping() bool { return l.Ports == nil }

// start starts the program on free ports. Where they cannot be reserved, another process may take one
// before the server listens; Launch then tries again.
func (l Local) start(s Setup) (*child, error) {
	ports := l.Ports
	reserved := &freeport.Reservation{}
	if ports == nil {
		var err error
		if reserved, err = freeport.Reserve(3); err != nil {
			return nil, err
		}
		for _, p := range reserved.Ports() {
			ports = append(ports, strconv.Itoa(p))
		}
	}
	args := append(slices.Concat(l.Command[1:], s.Flags),
		"--model-repository="+cmp.Or(s.Repository, l.Repository),
		"--http-address=127.0.0.1", "--http-port="+ports[0],
		"--grpc-address=127.0.0.1", "--grpc-port="+ports[1],
		"--metrics-address=127.0.0.1", "--metrics-port="+ports[2])
	c := &child{
		cmd:    exec.Command(l.Command[0], args...),
		done:   make(chan struct{}),
		output: &tail{limit: maxOutput},
		at: Endpoints{
			HTTP:    net.JoinHostPort("127.0.0.1", ports[0]),
			GRPC:    net.JoinHostPort("127.0.0.1", ports[1]),
			Metrics: "http://" + net.JoinHostPort("127.0.0.1", ports[2]) + "/metrics",
		},
		ports: reserved,
		grace: cmp.Or(l.StopTimeout, defaultStopTimeout),
	}
	c.cmd.Env = environment(l.Env, l.Devices, s.Env)
	output := both(c.output, l.Log)
	c.cmd.Stdout, c.cmd.Stderr = output, output
	c.cmd.SysProcAttr = attributes()
	c.cmd.WaitDelay = waitDelay
	started := make(chan error)
	go c.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", l.Command[0], err)
	}
	return c, nil
}

// await polls until the server is ready, has ended, or takes too long.
func (l Local) await(ctx context.Context, c *child, model string) error {
	wait := cmp.Or(l.ReadyTimeout, defaultReadyTimeout)
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	wanted := "http://" + c.at.HTTP + "/v2/health/ready"
	live := "http://" + c.at.HTTP + "/v2/health/live"
	if model != "" {
		wanted = "http://" + c.at.HTTP + "/v2/models/" + url.PathEscape(model) + "/ready"
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for polls := 0; !answers(ctx, wanted); {
		// Servers open their ports after loading the models, so if the model of a live
		// server is not ready now, it never will be.
		if model != "" && answers(ctx, live) {
			if polls++; polls > maxPollsWithoutModel {
				return fmt.Errorf("the server is up, but model %q is not ready%s", model, c.lastOutput())
			}
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("the server was not ready within %v%s", wait, c.lastOutput())
			}
			return context.Cause(ctx)
		case <-c.done:
			return c.Err()
		case <-tick.C:
		}
	}
	return nil
}

// answers reports whether a GET of a health endpoint is answered with 200.
func answers(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
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
	for _, k := range slices.Sorted(maps.Keys(more)) {
		env = append(env, k+"="+os.Expand(more[k], lookup))
	}
	if devices != nil {
		env = append(env, "CUDA_VISIBLE_DEVICES="+strings.Join(devices, ","))
	}
	return env
}
