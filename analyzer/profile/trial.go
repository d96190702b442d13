package profile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"triton/analyzer/bench"
	"triton/analyzer/settings"
	"triton/analyzer/trial"
)

// illegalError reports a trial that no server can run.
type illegalError struct{ text string }

func (e *illegalError) Error() string { return "Skipping illegal run configuration: " + e.text }

// runTrial runs a proposal, or finds its result in the checkpoint. The error ends the profile.
func (r *runner) runTrial(ctx context.Context, s Subject, p trial.Proposal) (trial.Result, error) {
	result := trial.Result{Proposal: p}
	config, err := r.variants(s, p)
	if err != nil {
		return withFailure(result, err), err
	}
	result.Config = config
	r.report.countLoad(config)
	if err := legal(config); err != nil {
		r.notice(err.Error())
		result = withFailure(result, err)
		r.deps.Observe(Measured{Result: result})
		return result, nil
	}
	if err := r.writeVariants(config); err != nil {
		return withFailure(result, err), err
	}
	options, err := r.generatorOptions(s, p, config)
	if err != nil {
		return withFailure(result, err), err
	}
	key := r.trialKey(config, options)
	if n := r.state.Forget(config); n > 0 {
		r.notice(fmt.Sprintf("The configuration of %s has changed; measurements of the checkpoint that are not used: %d", CheckpointName(config), n))
	}
	if known, ok := r.state.Find(key); ok {
		r.notice("Existing measurement found for run config. Skipping profile")
		result.Measurement = known.Result.Measurement
		r.successes++
		r.deps.Observe(Measured{Result: result, Reused: true})
		return result, nil
	}
	r.deps.Observe(Measuring{config})
	result = r.measureTrial(ctx, result, options)
	if ctx.Err() != nil {
		return result, nil
	}
	r.attempts++
	if result.Measurement != nil {
		r.successes++
		r.state.Trials = append(r.state.Trials, RecordedTrial{Key: key, Options: options, Result: result})
	}
	if result.Failure != nil {
		r.lastFailure = result.Failure.Err
	}
	r.deps.Observe(Measured{Result: result})
	if err := r.save(); err != nil {
		return result, err
	}
	if r.attempts >= 2 && r.successes == 0 {
		return result, fmt.Errorf("%w The last one: %w", errAttempts, result.Failure.Err)
	}
	return result, nil
}

func withFailure(r trial.Result, err error) trial.Result {
	r.Failure = &trial.Failure{Class: classify(r.Config, err), Err: err}
	return r
}

// legal checks what the server would refuse.
func legal(c trial.Config) error {
	for _, m := range c.Members {
		largest := max(1, m.Config.GetMaxBatchSize())
		if m.Load.Batch > int(largest) {
			return &illegalError{fmt.Sprintf("batch size %d of the client is above the max_batch_size %d of %s", m.Load.Batch, largest, m.Name)}
		}
		for _, v := range append([]trial.Variant{m.Variant}, m.Composing...) {
			for _, n := range v.Config.GetDynamicBatching().GetPreferredBatchSize() {
				if n > max(1, v.Config.GetMaxBatchSize()) {
					return &illegalError{fmt.Sprintf("preferred_batch_size %d is above the max_batch_size %d of %s", n, v.Config.GetMaxBatchSize(), v.Name)}
				}
			}
		}
	}
	return nil
}

func (r *runner) writeVariants(c trial.Config) error {
	for _, m := range c.Members {
		if err := r.repository.Add(m.Variant); err != nil {
			return err
		}
		for _, v := range m.Composing {
			if err := r.repository.AddComposing(v); err != nil {
				return err
			}
		}
	}
	return nil
}

// trialKey identifies a trial over several runs: in Model Analyzer's form, and with the server's flags, its
// environment and the arguments of its container, which change what is measured, where there are any.
func (r *runner) trialKey(c trial.Config, options []bench.LoadOptions) string {
	var b strings.Builder
	for i, m := range c.Members {
		b.WriteString(m.Name + " " + options[i].Representation())
		if len(m.Composing) > 0 {
			names := make([]string, len(m.Composing))
			for j, v := range m.Composing {
				names[j] = v.Name
			}
			b.WriteString(" " + strings.Join(names, ","))
		}
		o, _ := r.modelSettings(m.Model) // generatorOptions has found it
		for _, f := range o.ServerFlags {
			fmt.Fprintf(&b, " server:%s=%s", f.Name, strings.Join(f.Values, ","))
		}
		for _, name := range slices.Sorted(maps.Keys(o.ServerEnvironment)) {
			fmt.Fprintf(&b, " environment:%s=%s", name, o.ServerEnvironment[name])
		}
		for _, name := range slices.Sorted(maps.Keys(o.DockerArgs)) {
			if r.settings.Server.LaunchMode == settings.Docker {
				fmt.Fprintf(&b, " container:%s=%v", name, o.DockerArgs[name])
			}
		}
	}
	return b.String()
}

// measureTrial provides the server, puts load on it and collects the metrics.
func (r *runner) measureTrial(ctx context.Context, result trial.Result, options []bench.LoadOptions) trial.Result {
	s, c := r.session, result.Config
	if err := s.provide(ctx, CheckpointName(c), c); err != nil {
		s.failed = true
		return withFailure(result, err)
	}
	begin := time.Now()
	w := s.watch(ctx)
	running, end := s.whileRunning(ctx)
	supervisor := bench.Supervisor{
		Generator: r.deps.Generator, Attempts: r.settings.Client.MaxAutoAdjusts, Timeout: r.settings.Client.Timeout, Failed: r.logFailure,
	}
	figures, err := supervisor.Measure(running, s.withAddresses(c, options))
	end()
	s.spent.Measuring += time.Since(begin)
	reading, errs := w.Stop()
	for _, e := range errs {
		r.warn(e.Error())
	}
	if err != nil {
		s.failed = true
		return withFailure(result, s.endCause(err))
	}
	s.learnGPUs(reading)
	result.Measurement = r.combine(c, figures, reading)
	result.Measurement.Duration = time.Since(begin)
	return result
}

// combine makes one measurement of the generator's figures and the readings.
func (r *runner) combine(c trial.Config, figures []bench.Figures, reading bench.Reading) *trial.Measurement {
	m := &trial.Measurement{Stable: true, GPUs: reading.GPUs}
	for i, f := range figures {
		v := maps.Clone(f.Values)
		maps.Copy(v, reading.Host)
		m.Members = append(m.Members, v)
		m.Requests = append(m.Requests, f.Requests)
		m.Stable = m.Stable && f.Stable
		if len(m.GPUs) == 0 && len(f.GPUs) > 0 {
			m.GPUs = f.GPUs
		}
		if i == 0 {
			m.Confidence = f.Confidence
		}
	}
	if c.CPUOnly() && !r.settings.AlwaysReportGPUMetrics {
		m.GPUs = nil
	}
	return m
}

// modelLoadError reports a variant that the server did not load.
type modelLoadError struct {
	variant string
	err     error
}

func (e *modelLoadError) Error() string { return fmt.Sprintf("load %s: %v", e.variant, e.err) }
func (e *modelLoadError) Unwrap() error { return e.err }

// classify returns the class of a failure of a trial.
func classify(c trial.Config, err error) trial.Class {
	var loading *modelLoadError
	e := trial.Evidence{Text: err.Error(), Loaded: !errors.As(err, &loading), GPU: len(c.Members) > 0 && !c.CPUOnly()}
	if strings.Contains(e.Text, "signal: killed") || strings.Contains(e.Text, "exit status 137") {
		e.Kills = 1 // by the kernel, for lack of memory
	}
	return trial.ClassifyFailure(e)
}

// explicitError says what to do if a server refuses to load models.
func explicitError(err error) error {
	if err != nil && strings.Contains(err.Error(), "explicit model load / unload is not allowed") {
		return fmt.Errorf("The remote Tritonserver needs to be launched in EXPLICIT mode (--model-control-mode=explicit): %w", err) //nolint:staticcheck // Model Analyzer's sentence
	}
	return err
}

// failureText is the entry of a failed run in the file of errors.
func failureText(o bench.LoadOptions, out bench.Outcome) string {
	return fmt.Sprintf("Command: \nperf_analyzer %s\n\nError: %v\n%s\n", strings.Join(o.Args(), " "), out.Err, strings.TrimRight(out.Output, "\n"))
}
