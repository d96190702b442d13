// Package chaos keeps the models of a running server under constant traffic while a seeded
// plan of events loads, unloads, updates, breaks and kills them, and checks every answer. It
// is for tests only.
//
// An event is an episode: it begins and ends with its model serving. So the events of a plan
// do not depend on each other, and a plan may be cut short or replayed in parts. A further
// kind of event is one file with a type that implements kind, and one line in kinds.
//
// Each content that an episode writes has an edition, a number that the model adds to its
// inputs. An answer therefore says what computed it, and the oracle decides whether that
// content could serve at that time. Episodes tell the oracle what may answer from when to
// when, and when requests may fail; everything else is an error of the server.
package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Control is the server's model control mode.
type Control string

// The modes in which models change.
const (
	Explicit Control = "explicit"
	Poll     Control = "poll"
	Auto     Control = "auto"
)

// Server is the running server. The paths are of files that only it uses.
type Server struct {
	HTTP, GRPC, Metrics string // addresses
	Profile             string // address of net/http/pprof in the server, which counts goroutines
	PID                 int
	Temp                string // its TMPDIR
}

// Config configures a run.
type Config struct {
	Control  Control
	Plan     Plan
	Quiet    time.Duration // traffic without events, before them
	Root     string        // the folder that Prepare has filled
	Depot    *Depot        // has the remote models of Root
	Journal  string        // file to write the plan and what happened to; "" writes none
	Progress func(format string, args ...any)
}

// Run plays a plan on a server that has the models of Prepare loaded.
func Run(ctx context.Context, s Server, c Config) (*Report, error) {
	journal, err := openJournal(c.Journal, c.Plan)
	if err != nil {
		return nil, err
	}
	defer journal.close()
	w, err := newWorld(s, c, journal)
	if err != nil {
		return nil, err
	}
	defer w.close()
	r := &Report{Plan: c.Plan}

	if err := w.traffic(ctx, c.Quiet/2, nil); err != nil { // fills pools and caches
		return nil, err
	}
	before, err := w.idle(ctx)
	if err != nil {
		return nil, err
	}
	r.Idle[0] = baseline(c.Quiet / 4)
	quiet := &latencies{}
	if err := w.traffic(ctx, c.Quiet, quiet); err != nil {
		return nil, err
	}
	busy := &latencies{}
	if err := w.storm(ctx, busy); err != nil {
		return nil, err
	}
	r.Leaks, r.Before, r.After = w.settle(ctx, before)
	r.Idle[1] = baseline(c.Quiet / 4)
	r.count(w, quiet, busy)
	journal.write(r.summary())
	return r, nil
}

// world is the server, its repository and what is known of both.
type world struct {
	Server
	Config
	models  map[string]*subject
	order   []*subject
	admin   *connection
	journal *journal
	oracle  *oracle
	edition int64
	mu      sync.Mutex
	tally   tally
}

func newWorld(s Server, c Config, j *journal) (*world, error) {
	w := &world{Server: s, Config: c, models: map[string]*subject{}, journal: j, oracle: newOracle(), edition: firstEdition}
	if c.Progress == nil {
		w.Progress = func(string, ...any) {}
	}
	for _, m := range Models() {
		x := &subject{Model: m, dir: m.folder(c.Root), current: map[int]int64{}, config: m.config(1)}
		w.models[m.Name], w.order = x, append(w.order, x)
	}
	for _, x := range w.order {
		for _, v := range x.Versions {
			x.current[v] = x.edition(v)
		}
		w.oracle.serves(x, time.Now())
	}
	var err error
	w.admin, err = connect(s)
	return w, err
}

func (w *world) close() { w.admin.close() }

// next returns an edition that nothing has yet.
func (w *world) next() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.edition++
	return w.edition
}

// subject is a model and the content of its folder.
type subject struct {
	Model
	dir     string
	config  string
	current map[int]int64 // editions in the folder, by version
	resting atomic.Bool   // nobody sends requests
}

// staging returns a path outside the repository, on the same file system.
func (w *world) staging(name string) string {
	return filepath.Join(w.Root, "staging", fmt.Sprintf("%d-%s", w.next(), name))
}

// replace writes a file so that readers see the old or the new content.
func (w *world) replace(path string, content []byte) error {
	part := w.staging(filepath.Base(path))
	if err := os.WriteFile(part, content, 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// Prepare writes the models to root/models, and the folders that Run needs beside it.
func Prepare(root string) error {
	for _, dir := range []string{"models", "remote", "staging", "pids"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	for _, m := range Models() {
		dir := m.folder(root)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "config.pbtxt"), []byte(m.config(1)), 0o644); err != nil {
			return err
		}
		for _, v := range m.Versions {
			if err := m.writeVersion(filepath.Join(dir, fmt.Sprint(v)), root, m.edition(v)); err != nil {
				return err
			}
		}
	}
	return nil
}
