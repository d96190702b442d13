package profile

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"triton/analyzer/profile"
	"triton/analyzer/trial"
	"triton/pkg/ui"
)

// progress prints a line for each event and, on a terminal, a view of what runs now and of the best
// measurement so far.
type progress struct {
	w       io.Writer
	quiet   bool
	verbose bool

	out struct { // signals print too
		sync.Mutex
		view *ui.Live // nil without a terminal
	}

	mu struct {
		sync.Mutex
		state
	}
}

// state is what the view shows.
type state struct {
	subject string
	running string
	since   time.Time
	started time.Time
	trials  int
	failed  int
	scorer  trial.Scorer
	best    *trial.Result
	history []float64 // throughputs
}

const viewInterval = 250 * time.Millisecond

// start begins the view.
func (p *progress) start(terminal bool) {
	p.mu.started = time.Now()
	if terminal && !p.quiet {
		p.out.view = ui.StartLive(p.w, viewInterval, p.render)
	}
}

// stop ends the view.
func (p *progress) stop() error {
	p.out.Lock()
	defer p.out.Unlock()
	if p.out.view == nil {
		return nil
	}
	err := p.out.view.Stop()
	p.out.view = nil
	return err
}

// print prints a line, unless the user wants none.
func (p *progress) print(text string) {
	if !p.quiet {
		p.line(text)
	}
}

// warn prints a warning.
func (p *progress) warn(text string) { p.line("WARNING: " + text) }

func (p *progress) line(text string) {
	p.out.Lock()
	defer p.out.Unlock()
	if p.out.view != nil {
		_ = ui.WriteLine(p.out.view, text) // Stop returns the error
		return
	}
	fmt.Fprintln(p.w, text) // a log has one line for each event
}

func (p *progress) observe(e profile.Event) {
	switch e := e.(type) {
	case profile.Notice:
		if e.Warning {
			p.warn(e.Text)
			return
		}
		p.print(e.Text)
	case profile.Searching:
		p.mu.Lock()
		p.mu.subject, p.mu.best, p.mu.trials, p.mu.failed, p.mu.history = e.Subject.Name(), nil, 0, 0, nil
		p.mu.scorer = trial.NewScorer(goals(e.Subject)...)
		p.mu.Unlock()
		p.print("Searching for the best configuration of " + e.Subject.Name())
	case profile.Measuring:
		text := trialText(e.Config)
		p.mu.Lock()
		p.mu.running, p.mu.since = text, time.Now()
		p.mu.Unlock()
		if p.verbose {
			p.print("Profiling " + text)
		}
	case profile.Measured:
		p.print(p.measured(e))
	case profile.Searched:
		p.print(p.searched(e.Report))
	}
}

// measured counts a trial and returns its line.
func (p *progress) measured(e profile.Measured) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.running = ""
	p.mu.trials++
	line := fmt.Sprintf("[%d] %s: ", p.mu.trials, trialText(e.Result.Config))
	m := e.Result.Measurement
	if m == nil {
		p.mu.failed++
		return line + "failed: " + strings.TrimSpace(e.Result.Failure.Err.Error())
	}
	line += figuresText(m)
	if e.Reused {
		line += " (from the checkpoint)"
	}
	p.mu.history = append(p.mu.history, m.Throughput())
	if p.better(m) {
		p.mu.best = &e.Result
		line += ", the best so far"
	}
	return line
}

// better reports whether a measurement is the best so far, among those that satisfy the constraints. If
// none does there is no best one here, while the report names the best that does not (trial.Scorer.Rank).
// The caller holds p.mu.
func (p *progress) better(m *trial.Measurement) bool {
	return p.mu.scorer.Passes(m) && (p.mu.best == nil || p.mu.scorer.Score(m, p.mu.best.Measurement) > 0)
}

func (p *progress) searched(r *profile.ModelReport) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := fmt.Sprintf("Search of %s is over after %s: %s", r.Name, ui.Plural(len(r.Results), "trial"), r.Reason)
	if r.Err != nil {
		line = fmt.Sprintf("Search of %s failed: %v", r.Name, r.Err)
	}
	if r.Spent.Total > 0 {
		line += "\nTime: " + r.Spent.String()
	}
	if p.mu.best == nil {
		return line
	}
	ranked := p.mu.scorer.Rank(r.Results)
	if len(ranked) == 0 {
		return line
	}
	serve, best := p.mu.scorer.Recommend(ranked)
	if serve != best {
		b := ranked[best].Best
		line += fmt.Sprintf("\nNo configuration is better than the default beyond noise; the best figures:\n  %s: %s", trialText(b.Config), figuresText(b.Measurement))
	}
	b := ranked[serve].Best
	return line + fmt.Sprintf("\nRecommended: %s: %s", trialText(b.Config), figuresText(b.Measurement))
}

func figuresText(m *trial.Measurement) string {
	var latency float64
	for _, v := range m.Members {
		latency = max(latency, v[trial.LatencyP99])
	}
	return fmt.Sprintf("%.1f infer/sec, p99 %s", m.Throughput(), ui.Duration(time.Duration(latency*float64(time.Millisecond))))
}

// trialText returns the variants and the load of a trial.
func trialText(c trial.Config) string {
	text := profile.CheckpointName(c)
	for _, m := range c.Members {
		text += ", batch " + strconv.Itoa(m.Load.Batch)
		switch {
		case m.Load.RequestRate > 0:
			text += ", request rate " + strconv.Itoa(m.Load.RequestRate)
		case m.Load.Intervals != "":
			text += ", intervals of " + m.Load.Intervals
		default:
			text += ", concurrency " + strconv.Itoa(m.Load.Concurrency)
		}
	}
	return text
}

// render draws the view.
func (p *progress) render(width, rows int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	running := "preparing"
	if p.mu.running != "" {
		running = fmt.Sprintf("%s, for %s", p.mu.running, ui.Clock(time.Since(p.mu.since)))
	}
	best := "none"
	if p.mu.best != nil {
		best = fmt.Sprintf("%s, %s", trialText(p.mu.best.Config), figuresText(p.mu.best.Measurement))
	}
	part := func(text string) ui.Part { return ui.Part{Text: ui.Row(width, ui.Part{Text: text})} }
	return ui.View(rows,
		part(fmt.Sprintf("%s  %s, %d failed, %s", p.mu.subject, ui.Plural(p.mu.trials, "trial"), p.mu.failed, ui.Clock(time.Since(p.mu.started)))),
		part("now   "+running),
		part("best  "+best),
		part("throughput  "+ui.Sparkline(p.mu.history, max(1, width-14))))
}

// warnSignal says what a signal does, in Model Analyzer's words for all but the last.
func (p *progress) warnSignal(n int) {
	text := fmt.Sprintf("Received SIGINT %d/%d. Will attempt to exit after current measurement.", n, maxInterrupts)
	if n >= maxInterrupts {
		text = fmt.Sprintf("Received SIGINT %d/%d. Exiting; finished measurements are in the checkpoint.", n, maxInterrupts)
	}
	p.warn(text)
}
