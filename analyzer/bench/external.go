package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"triton/analyzer/memory/meter"
)

// PerfAnalyzer is the program perf_analyzer.
type PerfAnalyzer struct {
	Path string
	Env  []string // nil for this process's own
	// CPULimit stops a process that uses more, in percent of one core; 0 is no limit.
	CPULimit float64
	// Output receives what the processes write; may be nil.
	Output io.Writer

	mu struct {
		sync.Mutex
		pids []int
	}
}

var _ Generator = (*PerfAnalyzer)(nil)

const (
	maxPerfOutput = 1 << 20     // bytes of output that are kept
	maxShown      = 1000        // characters of output in an error
	checks        = time.Second // between two readings of a process's CPU time
)

// Texts of perf_analyzer about windows that are too short.
var unsettledTexts = []string{"Failed to obtain stable measurement", "Please use a larger time window"}

var errNoLevel = errors.New("perf_analyzer reported no measurement")

// Run runs one process for each model, all at the same time.
func (p *PerfAnalyzer) Run(ctx context.Context, models []LoadOptions) []Outcome {
	out := make([]Outcome, len(models))
	shared := p.Output
	if shared != nil {
		shared = &lockedWriter{w: shared}
	}
	var all sync.WaitGroup
	for i, o := range models {
		all.Go(func() { out[i] = p.run(ctx, o, shared) })
	}
	all.Wait()
	return out
}

func (p *PerfAnalyzer) run(ctx context.Context, o LoadOptions, shared io.Writer) Outcome {
	dir, remove, err := NewScratch("", "triton-profile-")
	if err != nil {
		return Outcome{Err: err}
	}
	defer func() { _ = remove() }() // the next run removes what is left
	report := filepath.Join(dir, "report.csv")
	o = o.Clone()
	o.Set("latency-report-file", report)
	text := &capped{limit: maxPerfOutput}
	err = p.wait(ctx, o, text, shared)
	out := Outcome{Output: text.String(), Err: err}
	if err == nil {
		out.Figures, out.Err = p.read(report)
	}
	var killed *killedError
	if out.Err != nil && ctx.Err() == nil && !errors.As(err, &killed) {
		for _, t := range unsettledTexts {
			out.Unsettled = out.Unsettled || strings.Contains(out.Output, t)
		}
	}
	return out
}

func (p *PerfAnalyzer) read(report string) (Figures, error) {
	f, err := os.Open(report)
	if errors.Is(err, os.ErrNotExist) {
		return Figures{}, errNoLevel
	}
	if err != nil {
		return Figures{}, err
	}
	defer f.Close()
	return readCSV(f)
}

// killedError reports a process that was ended by a signal.
type killedError struct{ reason string }

func (e *killedError) Error() string { return e.reason }

// wait starts the process and waits for its end. The kernel kills a child when the thread that started
// it ends, so the goroutine keeps its thread.
func (p *PerfAnalyzer) wait(ctx context.Context, o LoadOptions, text *capped, shared io.Writer) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cmd := exec.CommandContext(ctx, p.Path, o.Args()...)
	cmd.Env, cmd.WaitDelay = p.Env, waitDelay
	var to io.Writer = text
	if shared != nil {
		to = io.MultiWriter(text, shared)
	}
	cmd.Stdout, cmd.Stderr = to, to
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the load generator: %w", err)
	}
	defer p.track(cmd.Process.Pid)()
	var watch sync.WaitGroup
	if p.CPULimit > 0 {
		watch.Go(func() {
			if err := watchCPU(ctx, p.CPULimit, func() (time.Duration, error) { return meter.FS{}.CPUTime(cmd.Process.Pid) }); err != nil {
				stop(err)
			}
		})
	}
	err := cmd.Wait()
	cause := context.Cause(ctx)
	stop(nil)
	watch.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case cause != nil:
		return &killedError{"perf_analyzer was stopped: " + cause.Error()}
	case !errors.As(err, &exit):
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return &killedError{fmt.Sprintf("perf_analyzer was killed by signal %q", status.Signal())}
	}
	return fmt.Errorf("perf_analyzer ended with exit status %d: %s", exit.ExitCode(), beginning(text.String()))
}

// track keeps the process in PIDs until it has ended.
func (p *PerfAnalyzer) track(pid int) (ended func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.pids = append(p.mu.pids, pid)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.mu.pids = slices.DeleteFunc(p.mu.pids, func(other int) bool { return other == pid })
	}
}

// PIDs returns the running processes.
func (p *PerfAnalyzer) PIDs() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.mu.pids)
}

// beginning returns the first characters of a text.
func beginning(text string) string {
	text = strings.TrimSpace(text)
	if r := []rune(text); len(r) > maxShown {
		return string(r[:maxShown])
	}
	return text
}

// watchCPU returns an error when a process used more than limit percent of a core since the last check,
// and nil when the context ends or the use cannot be read.
func watchCPU(ctx context.Context, limit float64, used func() (time.Duration, error)) error {
	last, err := used()
	if err != nil {
		return nil //nolint:nilerr // the process has ended, or this system does not tell
	}
	tick := time.NewTicker(checks)
	defer tick.Stop()
	begin := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now, err := used()
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		end := time.Now()
		if percent := 100 * float64(now-last) / float64(end.Sub(begin)); percent > limit {
			return fmt.Errorf("it used %.0f %% of a core, and --perf-analyzer-cpu-util allows %.0f", percent, limit)
		}
		last, begin = now, end
	}
}

// capped keeps the first bytes that are written to it.
type capped struct {
	limit int
	mu    struct {
		sync.Mutex
		b bytes.Buffer
	}
}

func (c *capped) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.b.Write(b[:min(len(b), c.limit-c.mu.b.Len())])
	return len(b), nil
}

func (c *capped) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.b.String()
}

// lockedWriter is shared by several processes.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
