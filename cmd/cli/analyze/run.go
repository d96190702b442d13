package analyze

import (
	"context"
	"errors"
	"fmt"
	"os"

	"triton/analyzer/bench"
	"triton/analyzer/memory"
	"triton/analyzer/memory/meter"
	"triton/cmd/cli/machine"
	"triton/cmd/cli/process"
	"triton/pkg/gpu"
	"triton/pkg/ui"
)

// run analyzes and prints the result. After an interrupt or a failure it prints what was
// measured until then.
func run(ctx context.Context, p process.Process, o *options) error {
	if err := tryOutputs(o); err != nil {
		return &process.ExitError{Code: process.Usage, Err: err}
	}
	ctx, stop := p.Interruptible(ctx)
	defer stop()
	result, err := analyze(ctx, p, o)
	if err != nil && len(result.Points) == 0 {
		return failure(result, err)
	}
	if err := errors.Join(err, write(p, o, result)); err != nil {
		return err
	}
	switch {
	case result.Interrupted:
		return &process.ExitError{Code: interrupted}
	case result.Recommended == nil:
		return &process.ExitError{Code: process.Failure} // the report gives the reason
	}
	return nil
}

// analyze analyzes one model with servers of this program.
func analyze(ctx context.Context, p process.Process, o *options) (*memory.Result, error) {
	program, err := os.Executable()
	if err != nil {
		return &memory.Result{}, fmt.Errorf("find the path of this program, which starts the servers: %w", err)
	}
	var view gpu.View
	if m, err := gpu.Open(machine.GPUs(p, nil)); err == nil { // the servers have the same environment
		defer m.Close()
		view = m
	} else if !errors.Is(err, gpu.ErrNoDriver) {
		_ = ui.WriteLine(p.Stderr, fmt.Sprintf("GPUs are not measured: %v", err))
	}
	command := []string{
		program, "serve", "--exit-on-error=true", "--allow-http=true", "--allow-grpc=true",
		"--log-info=false", // so that the last lines of the log are about the failure
	}
	command = append(command, executionFlags...)
	log := startProgress(p.Stderr, p.StderrTerminal && p.Getenv("TERM") != "dumb", o)
	result, err := memory.Run(ctx, o.Config, memory.Deps{
		Launcher: bench.Local{Command: append(command, o.serve...), Env: p.Environ, ReadyTimeout: o.wait},
		Loader:   loader{o.load, o.client, o.Footprint.Quick},
		Host:     meter.FS{},
		GPU:      view,
		Observe:  log.observe,
	})
	return result, errors.Join(err, log.stop())
}

// failure returns the error of an analysis that measured nothing.
func failure(r *memory.Result, err error) error {
	switch {
	case r.Interrupted:
		return &process.ExitError{Code: interrupted, Err: err}
	case errors.Is(err, memory.ErrNoServer):
		return &process.ExitError{Code: noServer, Err: err}
	}
	return err
}
