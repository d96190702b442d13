package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"triton/analyzer"
	"triton/analyzer/report"
	"triton/analyzer/search"
	"triton/perf"
	"triton/pkg/client"
	"triton/pkg/gpu"
	"triton/pkg/modelconfig"
)

// runAnalyze analyzes and reports, also what an interrupt or a failure left.
func runAnalyze(ctx context.Context, w World, a *analysis) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program to start servers with: %w", err)
	}
	view, err := gpu.Open(gpuEnvironment(w, nil)) // the servers have the same environment
	if err == nil {
		defer view.Close()
	} else if !errors.Is(err, gpu.ErrNoDriver) {
		fmt.Fprintf(w.Stderr, "GPUs are not looked at: %v\n", err)
	}
	if err := tryOutputs(a); err != nil {
		return &exitError{exitUsage, err}
	}
	ctx, stop := interruptible(ctx, w)
	defer stop()
	serve := []string{
		program, "serve", "--exit-on-error=true", "--allow-http=true", "--allow-grpc=true", "--allow-metrics=false",
		"--log-info=false", // so that the last words are about what went wrong
	}
	progress := &analyzeProgress{w: w.Stderr, total: a.Space.Points()}
	result, err := analyzer.Run(ctx, a.Config, analyzer.Deps{
		Launcher: analyzer.Child{Command: append(serve, a.serve...), Env: w.Environ, Ready: a.wait},
		Loader:   perfLoader{a.load},
		Host:     analyzer.ProcFS{},
		GPU:      view,
		Observe:  progress.observe,
	})
	if len(result.Points) == 0 {
		return analyzeFailure(result, err)
	}
	if err := errors.Join(err, writeAnalysis(w, a, result)); err != nil {
		return err
	}
	switch {
	case result.Interrupted:
		return &exitError{analyzeInterrupted, nil}
	case result.Recommended < 0:
		return &exitError{exitFailure, nil} // the report says why
	}
	return nil
}

// analyzeFailure is the error of an analysis that measured nothing.
func analyzeFailure(r *analyzer.Result, err error) error {
	switch {
	case r.Interrupted:
		return &exitError{analyzeInterrupted, err}
	case errors.Is(err, analyzer.ErrNoServer):
		return &exitError{analyzeNoServer, err}
	}
	return err
}

// writeAnalysis prints the result and writes the files asked for.
func writeAnalysis(w World, a *analysis, r *analyzer.Result) error {
	errs := []error{report.Text(w.Stdout, r)}
	if a.csv != "" {
		errs = append(errs, writeReport(a.csv, r, report.CSV))
	}
	if a.json != "" {
		errs = append(errs, writeReport(a.json, r, report.JSON))
	}
	if len(r.Config) > 0 && a.output != "" {
		path, err := writeConfig(a, r.Config)
		if err == nil {
			fmt.Fprintf(w.Stdout, "its configuration: %s\n", path)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func writeReport(path string, r *analyzer.Result, print func(io.Writer, *analyzer.Result) error) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return print(f, r)
}

// tryOutputs finds out whether the files can be written, before hours of
// measurements are for nothing. The configuration must not go into the folder of
// the model itself.
func tryOutputs(a *analysis) error {
	var errs []error
	for _, path := range []string{a.csv, a.json} {
		if path == "" {
			continue
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
		if err == nil {
			err = f.Close()
		}
		errs = append(errs, err)
	}
	if a.output != "" {
		errs = append(errs, tryFolder(a))
	}
	return errors.Join(errs...)
}

func tryFolder(a *analysis) error {
	if err := os.MkdirAll(a.output, 0o755); err != nil {
		return err
	}
	probe, err := os.MkdirTemp(a.output, ".triton-")
	if err != nil {
		return err
	}
	if err := os.Remove(probe); err != nil {
		return err
	}
	to, err := os.Stat(filepath.Join(a.output, a.Model))
	if err != nil {
		return nil // it is made when there is something to write
	}
	for _, r := range a.Repositories {
		if from, err := os.Stat(filepath.Join(r, a.Model)); err == nil && os.SameFile(from, to) {
			return fmt.Errorf("--output-directory %s is the model repository, which is only read; name another folder", a.output)
		}
	}
	return nil
}

func writeConfig(a *analysis, config []byte) (string, error) {
	dir := filepath.Join(a.output, a.Model)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, modelconfig.FileName)
	return path, os.WriteFile(path, config, 0o644)
}

// analyzeProgress writes a line for everything that happens.
type analyzeProgress struct {
	w           io.Writer
	done, total int
}

func (p *analyzeProgress) observe(e analyzer.Event) {
	switch e := e.(type) {
	case analyzer.Launching:
		if e.Instances == 0 {
			fmt.Fprintln(p.w, "starting a server without models")
			return
		}
		fmt.Fprintf(p.w, "starting a server of instance count %d\n", e.Instances)
	case analyzer.Measured:
		p.done++
		at := fmt.Sprintf("[%d/%d] instances %d, batch %d, concurrency %d", p.done, p.total, e.Point.Instances, e.Point.Batch, e.Point.Concurrency)
		if e.Point.Err != nil {
			fmt.Fprintf(p.w, "%s: %v\n", at, e.Point.Err)
			return
		}
		fmt.Fprintf(p.w, "%s: %.1f inferences/s, p99 %.2f ms\n", at, e.Point.Throughput, float64(e.Point.P99)/float64(time.Millisecond))
	case analyzer.Exercising:
		fmt.Fprintf(p.w, "all %d instances at once on batches of %d, for their memory\n", e.Instances, e.Batch)
	case analyzer.GaveUp:
		if p.done > 0 { // else it is the error that analyze ends with
			fmt.Fprintf(p.w, "no more instances are tried: %v\n", e.Err)
		}
	}
}

// perfLoader is the load generator of perf behind analyze.
type perfLoader struct{ settings perfSettings }

// Measure runs one level of perf. Windows that are too short for the model are
// made longer: of a few requests no three windows agree.
func (l perfLoader) Measure(ctx context.Context, at analyzer.Endpoints, model string, load search.Load) (analyzer.Measurement, error) {
	const enough, longest = 60, 10 * time.Second
	c := l.config(model, load)
	for {
		m, err := l.run(ctx, at, c)
		short := errors.Is(err, perf.ErrNoRequests) || err == nil && !m.Stable && m.Requests < enough
		if !short || c.Interval >= longest || ctx.Err() != nil {
			if err != nil {
				return analyzer.Measurement{}, loadFailure(err)
			}
			return analyzer.Measurement{
				Requests: m.Requests, Throughput: m.Throughput, Stable: m.Stable,
				Avg: m.AvgLatency, P50: m.Latency(50), P90: m.Latency(90), P95: m.Latency(95), P99: m.Latency(99),
			}, nil
		}
		c.Interval = min(4*c.Interval, longest)
	}
}

// Exercise runs one level of perf that a number of requests ends.
func (l perfLoader) Exercise(ctx context.Context, at analyzer.Endpoints, model string, load search.Load, requests int) error {
	c := l.config(model, load)
	c.Windows, c.Samples, c.RequestCount = perf.CountWindows, requests, requests
	if _, err := l.run(ctx, at, c); err != nil {
		return loadFailure(err)
	}
	return nil
}

func (l perfLoader) config(model string, load search.Load) perf.Config {
	c := l.settings.config
	c.Model, c.Batches = model, []int{load.Batch}
	c.Concurrency = perf.Range{Start: load.Concurrency, End: load.Concurrency, Step: 1}
	return c
}

// run is one run of perf, whose only level it returns.
func (l perfLoader) run(ctx context.Context, at analyzer.Endpoints, c perf.Config) (perf.Level, error) {
	options := l.settings.client
	options.Address = at.HTTP
	if options.Protocol == client.GRPC {
		options.Address = at.GRPC
	}
	rep, err := perf.Run(ctx, c, perf.Deps{
		Dial: func(context.Context) (perf.Target, error) { return perf.Connect(options) },
	})
	if err != nil {
		return perf.Level{}, err
	}
	for _, level := range append(rep.Levels, rep.Failed...) {
		return level, nil
	}
	return perf.Level{}, perf.ErrNoRequests
}

// loadFailure is what the server answered instead of that a load failed.
func loadFailure(err error) error {
	var load *perf.LoadError
	if errors.As(err, &load) && len(load.Failures) > 0 {
		return load.Failures[0].Err
	}
	var setup *perf.SetupError
	if errors.As(err, &setup) && setup.Data {
		return fmt.Errorf("%w (analyze takes --shape NAME:D1,D2 and --input-data)", err)
	}
	return err
}
