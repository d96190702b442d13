package profile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"triton/analyzer/profile"
	"triton/analyzer/settings"
	"triton/analyzer/trial"
	"triton/cmd/cli/machine"
	"triton/cmd/cli/process"
	"triton/pkg/gpu"
)

// Exit codes of profile in addition to those of package process.
const (
	unsatisfied = 2 // with --strict
	noDevice    = 3
	noServer    = 4
	interrupted = 130
)

// maxInterrupts is the number of signals after which the program ends at once.
const maxInterrupts = 3

// run profiles the models and writes the results. After an interrupt or a failure it writes what was
// measured until then.
func run(ctx context.Context, p process.Process, o *settings.Profile) error {
	show := &progress{w: p.Stderr, quiet: o.Quiet, verbose: o.Verbose}
	for _, text := range o.Notices {
		show.warn(text)
	}
	if o.ModelRepository == "" && o.Server.LaunchMode != settings.Remote {
		return recorded(p, o, show)
	}
	view, chosen, err := openGPUs(p, o, show)
	if err != nil {
		return &process.ExitError{Code: noDevice, Err: err}
	}
	if view != nil {
		defer view.Close()
	}
	log, err := serverLog(o.Server.OutputPath)
	if err != nil {
		return err
	}
	defer log.Close()
	output, err := generatorOutput(p, o)
	if err != nil {
		return err
	}
	defer output.Close()
	generator, pids := newGenerator(p, o, output.writer())
	toMeasure, completer, err := launchers(p, o, visible(o, chosen), pids, log.writer())
	if err != nil {
		return err
	}
	ctx, interrupt, stop := signals(ctx, p, show)
	defer stop()
	show.start(p.StderrTerminal && p.Getenv("TERM") != "dumb")
	report, err := profile.Run(ctx, o, profile.Deps{
		Launcher: toMeasure, Completer: completer, Connect: connect(p, o), Generator: generator,
		NewSearch: newSearch(o, show.print), GPU: view, Devices: chosen, Tool: "triton " + p.Version,
		Observe: show.observe, Interrupt: interrupt,
	})
	if errors.Is(context.Cause(ctx), errThird) {
		_ = show.stop()
		return &process.ExitError{Code: interrupted}
	}
	return errors.Join(show.stop(), finish(p, o, show, report, err))
}

// finish writes the results and returns the exit code.
func finish(p process.Process, o *settings.Profile, show *progress, report *profile.Report, err error) error {
	if anyMeasured(report) {
		if written := writeReports(p, o, report, show); written != nil {
			return errors.Join(err, written)
		}
	}
	switch {
	case errors.Is(err, profile.ErrNoServer):
		return &process.ExitError{Code: noServer, Err: err}
	case err != nil:
		return err
	case report.Interrupted:
		return &process.ExitError{Code: interrupted}
	case o.Strict && !satisfied(report):
		return &process.ExitError{Code: unsatisfied, Err: errors.New("no variant of a model satisfies its constraints")}
	}
	return nil
}

// anyMeasured reports whether there is anything to write.
func anyMeasured(r *profile.Report) bool {
	for _, m := range r.Models {
		for _, t := range m.Results {
			if t.Measurement != nil {
				return true
			}
		}
	}
	return false
}

// recorded writes the results of the newest checkpoint again.
func recorded(p process.Process, o *settings.Profile, show *progress) error {
	report, err := profile.ReadRecorded(o)
	if err != nil {
		return err
	}
	return finish(p, o, show, report, nil)
}

// satisfied reports whether every model has a trial that satisfies its constraints.
func satisfied(r *profile.Report) bool {
	for _, m := range r.Models {
		scorer, found := trial.NewScorer(m.Goals()...), false
		for _, t := range m.Results {
			found = found || t.Measurement != nil && scorer.Passes(t.Measurement)
		}
		if !found {
			return false
		}
	}
	return true
}

// openGPUs returns the devices of this machine and those that were chosen. The view is nil without a
// driver, and if the server is on another machine.
func openGPUs(p process.Process, o *settings.Profile, show *progress) (gpu.View, []gpu.Device, error) {
	if o.DCGMDisable || o.Server.LaunchMode == settings.Remote {
		return nil, nil, nil
	}
	var view gpu.View
	opened, err := gpu.Open(machine.GPUs(p, nil))
	switch {
	case err == nil:
		view = opened
	case !errors.Is(err, gpu.ErrNoDriver):
		show.warn(fmt.Sprintf("GPUs are not measured: %v", err))
	}
	chosen, err := choose(view, o.GPUs)
	return view, chosen, err
}

// visible returns the UUIDs of the devices for the servers; nil if the servers may see all.
func visible(o *settings.Profile, chosen []gpu.Device) []string {
	if len(chosen) == 0 && len(o.GPUs) == 1 && o.GPUs[0] == "all" {
		return nil
	}
	uuids := make([]string, len(chosen))
	for i, d := range chosen {
		uuids[i] = d.UUID
	}
	return uuids
}

// sink is a file or nothing.
type sink struct {
	file *os.File
	to   io.Writer
}

func (s sink) writer() io.Writer { return s.to }

// Close closes the file. Its content is a log, so that a failure changes no result.
func (s sink) Close() {
	if s.file != nil {
		_ = s.file.Close()
	}
}

// serverLog opens the log of the servers anew.
func serverLog(path string) (sink, error) {
	if path == "" {
		return sink{}, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return sink{}, fmt.Errorf("--triton-output-path: %w", err)
	}
	f, err := os.Create(path)
	if err != nil {
		return sink{}, fmt.Errorf("--triton-output-path: %w", err)
	}
	return sink{f, f}, nil
}

// generatorOutput opens what the output of the load generator goes to.
func generatorOutput(p process.Process, o *settings.Profile) (sink, error) {
	switch {
	case !o.Client.Output:
		return sink{}, nil
	case o.Client.OutputPath == "":
		return sink{nil, p.Stdout}, nil
	}
	f, err := os.OpenFile(o.Client.OutputPath, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return sink{}, fmt.Errorf("--perf-output-path: %w", err)
	}
	return sink{f, f}, nil
}

// errThird is the cause of a context that the last signal has cancelled.
var errThird = errors.New("interrupted")

// signals makes the first signal close interrupt, which ends the profile after the running measurement.
// The second one only warns, the third one cancels the context.
func signals(ctx context.Context, p process.Process, show *progress) (_ context.Context, interrupt <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	closed := make(chan struct{})
	received := 0
	signal := func(os.Signal) {
		received++
		show.warnSignal(received)
		switch received {
		case 1:
			close(closed)
		case maxInterrupts:
			cancel(errThird)
		}
	}
	unwatch := p.OnSignal(0, signal, signal)
	return ctx, closed, func() {
		unwatch()
		cancel(nil)
	}
}
