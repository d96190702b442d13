// Package profile measures the trials that a search proposes: it writes variants of models to an
// output repository, starts a server on them, puts load on it and collects metrics. Finished trials
// are in a checkpoint, so that a later run does not measure them again. The servers, the load
// generator and the search are dependencies.
package profile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"triton/analyzer/bench"
	"triton/analyzer/settings"
	"triton/analyzer/trial"
	"triton/pkg/client"
	"triton/pkg/gpu"
)

// Search proposes trials.
type Search interface {
	// Next returns the next proposal, or false when the search is over. last is the result of the
	// proposal before, nil at first.
	Next(last *trial.Result) (trial.Proposal, bool)
	Reason() string // for which the search ended
	Stop()          // releases a search that is not at its end
}

// Control loads models on a server.
type Control interface {
	Ready(ctx context.Context) (bool, error)
	Load(ctx context.Context, model string, o client.Override) error
	Unload(ctx context.Context, model string, dependents bool) error
	ModelReady(ctx context.Context, model, version string) (bool, error)
	ModelConfig(ctx context.Context, model, version string) (*client.ModelConfig, error)
	Index(ctx context.Context, readyOnly bool) ([]*client.IndexEntry, error)
	Close() error
}

// Deps are the dependencies of a profile.
type Deps struct {
	Launcher bench.Launcher
	// Completer launches servers for the completion of configurations; nil means Launcher.
	Completer bench.Launcher
	Connect   func(bench.Endpoints) (Control, error)
	Generator bench.Generator
	NewSearch func(Subject) (Search, error)
	// GPU reads the devices of this machine; nil if it has none, or if the server is elsewhere.
	GPU     gpu.View
	Devices []gpu.Device // the chosen ones
	Tool    string       // program and version
	// Observe receives events on the goroutine of Run; may be nil.
	Observe func(Event)
	// Interrupt, when closed, ends the profile after the running measurement. Cancelling the
	// context ends it at once.
	Interrupt <-chan struct{}
}

// Event is one of the types below.
type Event interface{ event() }

type (
	// Notice is a text for the log.
	Notice struct {
		Text    string
		Warning bool
	}
	// Searching is sent when a search begins.
	Searching struct{ Subject Subject }
	// Measuring is sent before a trial is measured.
	Measuring struct{ Config trial.Config }
	// Measured is sent when a trial is finished.
	Measured struct {
		Result trial.Result
		Reused bool // from the checkpoint
	}
	// Searched is sent when a search has ended.
	Searched struct{ Report *ModelReport }
)

func (Notice) event()    {}
func (Searching) event() {}
func (Measuring) event() {}
func (Measured) event()  {}
func (Searched) event()  {}

// ErrNoServer wraps the reason why the first server did not start.
var ErrNoServer = errors.New("the server did not start")

// errAttempts is the error of a profile that begins with two failures: the options are wrong, most
// likely, and all further trials fail too.
var errAttempts = errors.New("The first 2 attempts to acquire measurements have failed. Please examine the Tritonserver/PA error logs to determine what has gone wrong.") //nolint:staticcheck // Model Analyzer's sentence

// runner is a running profile.
type runner struct {
	settings   *settings.Profile
	deps       Deps
	state      *Checkpoint
	number     int // of the checkpoint that the run writes
	repository variantRepository
	session    *session
	report     *Report
	attempts   int
	successes  int
	// lastFailure is that of the last attempt without a measurement.
	lastFailure error
	warned      map[string]bool
}

// Run profiles the models. The report has what was measured, also if the error is not nil.
func Run(ctx context.Context, p *settings.Profile, d Deps) (*Report, error) {
	if d.Observe == nil {
		d.Observe = func(Event) {}
	}
	if d.Completer == nil {
		d.Completer = d.Launcher
	}
	r := &runner{settings: p, deps: d, warned: map[string]bool{}}
	r.report = newReport(p)
	r.report.Tool = d.Tool
	err := r.run(ctx)
	r.report.Interrupted = ctx.Err() != nil || r.interrupted()
	if ctx.Err() != nil {
		err = nil
	}
	return r.report, err
}

func (r *runner) run(ctx context.Context) (err error) {
	if err := r.openCheckpoint(); err != nil {
		return err
	}
	if err := r.identifyGPUs(); err != nil {
		return err
	}
	if err := r.createRepository(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(r.settings.OutputModelRepository) // if it is empty; the corrected run must not find it
		}
	}()
	r.session = &session{runner: r}
	defer func() { r.session.warnStop(r.session.close()) }()
	subjects, err := r.prepareSubjects(ctx)
	if err != nil {
		return err
	}
	for _, s := range subjects {
		if r.interrupted() || ctx.Err() != nil {
			break
		}
		if r.overBudget() {
			r.warn(fmt.Sprintf("%s is not profiled: the budget of %v is used up", s.Name(), r.settings.Budget))
			continue
		}
		r.report.Models = append(r.report.Models, newModelReport(s))
		if err := r.runSearch(ctx, s, &r.report.Models[len(r.report.Models)-1]); err != nil {
			return err
		}
	}
	if r.attempts > 0 && r.successes == 0 {
		return fmt.Errorf("no measurement succeeded; the last failure: %w", r.lastFailure)
	}
	return nil
}

func (r *runner) createRepository() error {
	source := r.settings.ModelRepository
	if r.settings.Server.LaunchMode == settings.Remote {
		source = "" // the server's repository is elsewhere
	}
	r.repository = variantRepository{
		Dir: r.settings.OutputModelRepository, Source: source, OwnNames: r.settings.Server.LaunchMode == settings.CAPI,
	}
	return r.repository.Create(r.settings.OverrideOutput)
}

// runSearch runs the trials of one search.
func (r *runner) runSearch(ctx context.Context, s Subject, m *ModelReport) error {
	r.deps.Observe(Searching{s})
	search, err := r.deps.NewSearch(s)
	if err != nil {
		m.Err = err
		r.deps.Observe(Searched{m})
		return err
	}
	defer search.Stop()
	begin, before := time.Now(), r.session.spent
	defer func() {
		m.Spent = r.session.spent.since(before)
		m.Spent.Total = time.Since(begin)
		r.deps.Observe(Searched{m})
	}()
	var last *trial.Result
	for !r.interrupted() && ctx.Err() == nil {
		if r.overBudget() {
			m.Reason = fmt.Sprintf("the budget of %v is used up", r.settings.Budget)
			return nil
		}
		p, ok := search.Next(last)
		if !ok {
			m.Reason = search.Reason()
			return nil
		}
		result, err := r.runTrial(ctx, s, p)
		if ctx.Err() != nil {
			break // an interrupted trial has no result
		}
		m.Results = append(m.Results, result)
		last = &m.Results[len(m.Results)-1]
		if err != nil {
			m.Err = err
			return err
		}
	}
	m.Reason = "interrupted"
	return nil
}

func (r *runner) interrupted() bool {
	select {
	case <-r.deps.Interrupt:
		return true
	default:
		return false
	}
}

// overBudget reports whether the time that the user gave is used up. The first measurement is made in
// any case: a slow start of a server may take the whole time, and would leave nothing to report.
func (r *runner) overBudget() bool {
	return r.settings.Budget > 0 && r.attempts > 0 && time.Since(r.report.Started) >= r.settings.Budget
}

func (r *runner) notice(text string) { r.deps.Observe(Notice{Text: text}) }

// warn reports a problem once and keeps it for the report.
func (r *runner) warn(text string) {
	text = strings.TrimSpace(text) // servers end their texts with empty lines
	if r.warned[text] {
		return
	}
	r.warned[text] = true
	r.report.Warnings = append(r.report.Warnings, text)
	r.deps.Observe(Notice{Text: text, Warning: true})
}

// logFailure appends the output of a failed load generator to a file beside the results.
func (r *runner) logFailure(o bench.LoadOptions, out bench.Outcome) {
	path := filepath.Join(r.settings.Output.ExportPath, "perf_analyzer_error.log")
	err := os.MkdirAll(r.settings.Output.ExportPath, 0o755)
	if err == nil {
		err = appendFile(path, failureText(o, out))
	}
	if err != nil {
		r.warn("the output of the failed load generator cannot be kept: " + err.Error())
	}
}

func appendFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
