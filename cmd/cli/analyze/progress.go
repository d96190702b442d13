package analyze

import (
	"fmt"
	"io"
	"sync"
	"time"

	"triton/analyzer/memory"
	"triton/analyzer/memory/footprint"
	"triton/pkg/ui"
)

// progress writes a line for each event and, on a terminal, a view of what runs and of what is
// known so far.
type progress struct {
	w    io.Writer
	view *ui.Live // nil without a terminal

	mu struct {
		sync.Mutex
		state
	}
}

// state is what the view shows.
type state struct {
	model   string
	started time.Time
	ends    time.Time // of the budget; zero without one
	running string
	since   time.Time

	servers, settings, total int
	limits                   []footprint.Limit
	throughput               []float64
	last                     string
}

// startProgress begins the view of a model if there is a terminal.
func startProgress(w io.Writer, terminal bool, o *options) *progress {
	p := &progress{w: w}
	p.mu.state = state{model: o.Model, started: time.Now(), total: o.Space.Points(), running: "preparing", since: time.Now()}
	if o.Footprint.Budget > 0 {
		p.mu.ends = p.mu.started.Add(o.Footprint.Budget)
	}
	if terminal {
		p.view = ui.StartLive(w, viewInterval, p.render)
	}
	return p
}

// stop ends the view.
func (p *progress) stop() error {
	if p.view == nil {
		return nil
	}
	return p.view.Stop()
}

// print prints a line above the view.
func (p *progress) print(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.view != nil {
		_ = ui.WriteLine(p.view, text) // Stop returns the error
		return
	}
	fmt.Fprintln(p.w, text) // a log has one line for each event
}

// run notes what runs now.
func (p *progress) run(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.running, p.mu.since = fmt.Sprintf(format, args...), time.Now()
}

func (p *progress) observe(e memory.Event) {
	switch e := e.(type) {
	case memory.Step:
		p.step(e.Event)
	case memory.Measured:
		p.measured(e.Point)
	case memory.Stressing:
		verb := "execute"
		if e.Instances == 1 {
			verb = "executes"
		}
		text := fmt.Sprintf("measuring memory while %s %s batches of %d", ui.Plural(e.Instances, "instance"), verb, e.Batch)
		p.run("%s", text)
		p.print("%s", text)
	}
}

func (p *progress) measured(at memory.Point) {
	p.mu.Lock()
	p.mu.settings++
	p.mu.total = max(p.mu.total, p.mu.settings) // a latency budget measures the settings with more counts
	line := fmt.Sprintf("[%d/%d] instances %d, batch %d, concurrency %d: ", p.mu.settings, p.mu.total, at.Instances, at.Batch, at.Concurrency)
	if at.Err != nil {
		line += at.Err.Error()
	} else {
		p.mu.last = fmt.Sprintf("%.1f inferences/s, p99 %.2f ms", at.Throughput, float64(at.P99)/float64(time.Millisecond))
		line += p.mu.last
		p.mu.throughput = append(p.mu.throughput, at.Throughput)
	}
	p.mu.Unlock()
	p.print("%s", line)
}

// step writes a line before each server, and what it showed after it.
func (p *progress) step(e footprint.Event) {
	switch {
	case e.Instances == 0:
		p.run("starting a server without models")
		p.print("starting a server without models")
	case e.Done == nil:
		p.run("starting a server for instance count %d", e.Instances)
		p.print("starting a server for instance count %d: %s", e.Instances, e.Why)
	case e.Done.Failure != nil:
		if len(e.Result.Anchors) > 1 { // otherwise analyze returns the error
			p.print("instance count %d: %v", e.Instances, e.Done.Failure)
		}
	default:
		p.mu.Lock()
		p.mu.servers, p.mu.limits = len(e.Result.Anchors), append(p.mu.limits[:0], e.Result.Limits...)
		p.mu.Unlock()
		for _, l := range e.Result.Limits {
			line := fmt.Sprintf("instance count %d: peak %.1f MiB (%s)", e.Instances, mib(float64(e.Done.Peak[l.Place])), l.Place)
			if l.Law != nil {
				line += fmt.Sprintf("; %.1f MiB for each instance", mib(l.Law.PerInstance.Value))
			}
			p.print("%s", line)
		}
	}
}

func mib(bytes float64) float64 { return bytes / (1 << 20) }
