package analyzer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
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

// ProcessLauncher launches servers as child processes on free loopback ports. On Linux the
// kernel kills them when this process ends, even if it is killed.
type ProcessLauncher struct {
	// Command is the program with its first arguments, such as "triton serve".
	// The repository and the ports are added as Triton's flags.
	Command      []string
	Env          []string      // nil for this process's own
	ReadyTimeout time.Duration // time limit of the start; 0 means two minutes
	StopTimeout  time.Duration // time that a server gets to stop before it is killed; 0 means 15 s
	Ports        []string      // of HTTP, gRPC and metrics; nil for free ones
	Log          io.Writer     // also receives the output of the servers; may be nil
}

var _ Launcher = ProcessLauncher{}

// Launch starts a server and waits until it and its model are ready.
func (l ProcessLauncher) Launch(ctx context.Context, s Setup) (Server, error) {
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

// start starts the program on free ports. Where they cannot be reserved, another process may take one
// before the server listens; Launch then tries again.
func (l ProcessLauncher) start(s Setup) (*child, error) {
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
	args := append(l.Command[1:len(l.Command):len(l.Command)],
		"--model-repository="+s.Repository,
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
			Metrics: net.JoinHostPort("127.0.0.1", ports[2]),
		},
		ports: reserved,
		grace: l.StopTimeout,
	}
	if c.grace == 0 {
		c.grace = defaultStopTimeout
	}
	c.cmd.Env = l.Env
	var output io.Writer = c.output
	if l.Log != nil {
		output = io.MultiWriter(c.output, l.Log)
	}
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
func (l ProcessLauncher) await(ctx context.Context, c *child, model string) error {
	wait := l.ReadyTimeout
	if wait == 0 {
		wait = defaultReadyTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	wanted := "http://" + c.at.HTTP + "/v2/health/ready"
	live := "http://" + c.at.HTTP + "/v2/health/live"
	if model != "" {
		wanted = "http://" + c.at.HTTP + "/v2/models/" + url.PathEscape(model) + "/ready"
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for polls := 0; !Answers(ctx, wanted); {
		// Servers open their ports after loading the models, so if the model of a live
		// server is not ready now, it never will be.
		if model != "" && Answers(ctx, live) {
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

// Answers reports whether a GET of a health endpoint is answered with 200.
func Answers(ctx context.Context, url string) bool {
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
