package serve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"triton/cmd/cli/machine"
	"triton/cmd/cli/process"
	"triton/pkg/cuda"
	"triton/pkg/log"
	"triton/server"
	"triton/server/backend/onnx"
	"triton/server/backend/plugin"
)

func run(ctx context.Context, p process.Process, o *options) error {
	warnings, err := o.finish()
	if err != nil {
		return usageError(err)
	}
	if p.IgnoreBrokenPipe != nil {
		p.IgnoreBrokenPipe()
	}
	for _, text := range warnings {
		fmt.Fprintln(p.Stderr, text)
	}
	sink, err := log.Open(o.log, p.Stdout, p.Stderr)
	if err != nil {
		return err
	}
	defer sink.Close()
	opts := o.Options
	unit, err := openSystemd(p.Getenv, os.Getpid(), socketNames...)
	if err != nil {
		return usageError(err)
	}
	defer unit.Close()
	inherit(unit, &opts)
	opts.Version, opts.Commit, opts.Log, opts.Logs = p.Version, p.Commit, sink.Logger(), sink
	opts.Guard.Audit.Stderr = p.Stderr
	defer reopenOnHangup(p, sink, &opts)()
	if o.access {
		opts.AccessLog = opts.Log
	}
	if machine.CPUOnly(p) {
		opts.Metrics.GPU = false
	}
	search := machine.ONNXRuntime(p, o.library, o.BackendDirectory)
	if _, err := onnx.Find(search); err != nil {
		opts.Log.Warn(fmt.Sprintf("models for ONNX Runtime will not be served: %s", err))
	}
	opts.Backends = server.NewBackends(search)
	opts.Isolation.Program = o.isolatedProgram()
	opts.LimitHeap = debug.SetMemoryLimit(-1) == math.MaxInt64 // GOMEMLIMIT is not set
	opts.CUDA = openCUDA(p, &opts)
	opts.GPUs = machine.GPUs(p, opts.CUDA)
	var s *server.Server
	opts.Models.Closed = newReclaimer(func() {
		s.Pool().Trim()
		debug.FreeOSMemory()
		onnx.Trim()
	}).modelClosed
	s, err = server.New(opts)
	if err != nil {
		return usageError(err)
	}
	err = runServer(ctx, p, s, reporter{unit, opts.Log})
	if !errors.Is(err, server.ErrKilled) { // or the code of a library may still run, or never return
		plugin.Finalize(opts.Log)
	}
	return exit(p, err)
}

// openCUDA returns the CUDA driver for memory that clients register; nil if they may not or
// there is no driver.
func openCUDA(p process.Process, opts *server.Options) cuda.Driver {
	if !opts.ClientSharedMemory || machine.CPUOnly(p) {
		return nil
	}
	d, err := cuda.Open()
	if err != nil {
		opts.Log.Info(fmt.Sprintf("CUDA shared memory cannot be registered: %s", err))
		return nil
	}
	return d
}

// runServer serves until a signal. The first signal lets the requests in flight finish, the
// second does not. During the drain delay the second one only ends the delay.
func runServer(ctx context.Context, p process.Process, s *server.Server, manager reporter) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	drain := func(sig os.Signal) {
		number, _ := sig.(syscall.Signal)
		fmt.Fprintf(p.Stdout, "Signal (%d) received.\n", int(number))
		manager.stopping()
		cancel()
	}
	late := newDeadline()
	stop := p.OnSignal(process.SignalWindow, drain, func(sig os.Signal) {
		if !s.Hurry() {
			s.Kill()
			late.start()
		}
		drain(sig)
	})
	defer stop()
	defer manager.follow(s)()
	return onHeapFloor(func() error { return late.bound(func() error { return s.Run(ctx) }) })
}

// killGrace is how long a server that was killed may take to end its children and remove its files.
const killGrace = 2 * time.Second

// deadline ends the wait for a server that was killed: code of a model in this process, or of a driver, may
// never return.
type deadline struct {
	once   sync.Once
	passed chan struct{}
}

func newDeadline() *deadline { return &deadline{passed: make(chan struct{})} }

// start lets bound return after killGrace.
func (d *deadline) start() {
	d.once.Do(func() { time.AfterFunc(killGrace, func() { close(d.passed) }) })
}

// bound returns what run returns, or ErrKilled once the deadline has passed; then the goroutine of run is left
// to the end of the process.
func (d *deadline) bound(run func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- run() }()
	select {
	case err := <-ended:
		return err
	case <-d.passed:
		return server.ErrKilled
	}
}

// exit prints the error that ends the server as Triton does.
func exit(p process.Process, err error) error {
	if err == nil {
		return nil
	}
	if !errors.Is(err, context.Canceled) || errors.Is(err, server.ErrKilled) {
		fmt.Fprintf(p.Stderr, "error: %s\n", err)
	}
	return &process.ExitError{Code: process.Failure}
}
