package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"triton/analyzer/trial"
)

// Docker launches containers. The ports of a container are published on loopback addresses.
type Docker struct {
	Host  string // of the engine, as in DOCKER_HOST; empty for its default socket
	Image string
	// Repository is mounted in the container at the same absolute path, read-only.
	Repository string
	Mounts     []string // host:destination:mode
	Labels     map[string]string
	ShmSize    string // such as 1g
	// Devices are the devices of the container by UUID: none if it is empty, all if it is nil.
	Devices         []string
	Ports           []string // of HTTP, gRPC and metrics
	MetricsInterval time.Duration
	ReadyTimeout    time.Duration
	Log             io.Writer // of the servers; may be nil
}

var _ Launcher = Docker{}

const (
	stopSeconds = 5
	enginePoll  = 100 * time.Millisecond
	cleanUp     = 30 * time.Second // for the removal of a container
	maxTail     = 4 << 10
)

// Launch creates and starts a container and waits until its server is ready.
func (l Docker) Launch(ctx context.Context, s Setup) (Server, error) {
	body, err := l.container(s)
	if err != nil {
		return nil, err
	}
	e, err := newEngine(l.Host)
	if err != nil {
		return nil, err
	}
	c := &container{engine: e, ports: l.Ports, done: make(chan struct{}), log: &tail{limit: maxTail}, to: l.Log, terminal: body.Tty}
	if c.id, err = l.create(ctx, e, body); err == nil {
		err = e.call(ctx, http.MethodPost, "/containers/"+c.id+"/start", nil, nil, nil)
	}
	if err != nil {
		err = errors.Join(explainEngine(err), c.remove())
		e.close()
		return nil, err
	}
	c.follow()
	if err := l.await(ctx, c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// explainEngine adds what to do when there is no engine.
func explainEngine(err error) error {
	var dial *net.OpError
	if errors.As(err, &dial) {
		return fmt.Errorf("%w; --triton-launch-mode docker needs a running engine and access to its socket (DOCKER_HOST names another one)", err)
	}
	return err
}

// create creates the container, and downloads its image first if the engine does not have it.
func (l Docker) create(ctx context.Context, e *engine, body *createBody) (string, error) {
	query := url.Values{}
	if body.name != "" {
		query.Set("name", body.name)
	}
	var made struct{ ID string }
	err := e.call(ctx, http.MethodPost, "/containers/create", query, body, &made)
	if notFound(err) {
		if err = e.pull(ctx, body.Image); err == nil {
			err = e.call(ctx, http.MethodPost, "/containers/create", query, body, &made)
		}
	}
	return made.ID, err
}

// await polls until the server is ready, has ended, or takes too long.
func (l Docker) await(ctx context.Context, c *container) error {
	ctx, cancel := context.WithTimeout(ctx, l.ReadyTimeout)
	defer cancel()
	tick := time.NewTicker(enginePoll)
	defer tick.Stop()
	for !answers(ctx, "http://"+c.Endpoints().HTTP+"/v2/health/ready") {
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("the server in the container was not ready within %v%s", l.ReadyTimeout, c.log.last(maxTail))
			}
			return context.Cause(ctx)
		case <-c.done:
			return c.err
		case <-tick.C:
		}
	}
	return nil
}

// container is a running server.
type container struct {
	engine   *engine
	id       string
	ports    []string
	terminal bool
	log      *tail
	to       io.Writer // also receives the output; may be nil
	watch    sync.WaitGroup
	cancel   context.CancelFunc
	done     chan struct{}
	err      error // valid when done is closed
	once     sync.Once
	closed   error
}

// follow waits for the end of the container and copies its output.
func (c *container) follow() {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.watch.Go(func() {
		query := url.Values{"follow": {"1"}, "stdout": {"1"}, "stderr": {"1"}}
		body, err := c.engine.open(ctx, http.MethodGet, "/containers/"+c.id+"/logs", query, nil)
		if err != nil {
			return // the end of the container is seen below
		}
		defer body.Close()
		_ = copyLogs(both(c.log, c.to), body, c.terminal)
	})
	c.watch.Go(func() {
		defer close(c.done)
		var end struct{ StatusCode int }
		err := c.engine.call(ctx, http.MethodPost, "/containers/"+c.id+"/wait", nil, nil, &end)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			c.err = err
		default:
			c.err = fmt.Errorf("the server in the container ended by itself (exit status %d)%s", end.StatusCode, c.log.last(maxTail))
		}
	})
}

// Endpoints returns the published ports.
func (c *container) Endpoints() Endpoints {
	at := func(i int) string { return net.JoinHostPort("127.0.0.1", c.ports[i]) }
	return Endpoints{HTTP: at(0), GRPC: at(1), Metrics: "http://" + at(2) + "/metrics"}
}

func (c *container) PIDs() []int           { return nil } // of another namespace
func (c *container) Done() <-chan struct{} { return c.done }

func (c *container) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// Memory reads the memory that the container uses, without the page cache that the kernel may drop.
func (c *container) Memory(ctx context.Context) (Reading, error) {
	var stats struct {
		Memory struct {
			Usage uint64            `json:"usage"`
			Limit uint64            `json:"limit"`
			Stats map[string]uint64 `json:"stats"`
		} `json:"memory_stats"`
	}
	query := url.Values{"stream": {"0"}, "one-shot": {"1"}}
	if err := c.engine.call(ctx, http.MethodGet, "/containers/"+c.id+"/stats", query, nil, &stats); err != nil {
		return Reading{}, err
	}
	m := stats.Memory
	cache := m.Stats["inactive_file"] // of control groups version 2
	if old, ok := m.Stats["total_inactive_file"]; ok {
		cache = old
	}
	used := m.Usage - min(cache, m.Usage)
	v := trial.Values{trial.CPUUsedRAM: float64(used) / 1e6}
	if m.Limit > used {
		v[trial.CPUAvailableRAM] = float64(m.Limit-used) / 1e6
	}
	return Reading{Host: v}, nil
}

// Close stops and removes the container.
func (c *container) Close() error {
	c.once.Do(func() {
		c.cancel()
		c.watch.Wait()
		c.closed = c.remove()
		c.engine.close()
	})
	return c.closed
}

// remove stops a container, if it was created, and removes it.
func (c *container) remove() error {
	if c.id == "" {
		return nil
	}
	// The context of the run may have ended.
	ctx, cancel := context.WithTimeout(context.Background(), cleanUp)
	defer cancel()
	query := url.Values{"t": {fmt.Sprint(stopSeconds)}}
	err := c.engine.call(ctx, http.MethodPost, "/containers/"+c.id+"/stop", query, nil, nil)
	if err != nil && !notFound(err) {
		err = fmt.Errorf("stop container %s: %w", c.id, err)
	} else {
		err = nil
	}
	gone := c.engine.call(ctx, http.MethodDelete, "/containers/"+c.id, url.Values{"force": {"1"}, "v": {"1"}}, nil, nil)
	if gone != nil && !notFound(gone) {
		var a *apiError
		if !errors.As(gone, &a) || a.status != http.StatusConflict { // the engine is removing it already
			err = errors.Join(err, fmt.Errorf("remove container %s: %w", c.id, gone))
		}
	}
	return err
}
