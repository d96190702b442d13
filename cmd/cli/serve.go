package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"triton/pkg/log"
	"triton/server"
	"triton/server/backend/onnx"
)

const serveHelp = `Serve the models of one or several model repositories over HTTP and gRPC.
The flags are tritonserver's. A flag's name may be cut short while it is
unambiguous; its value follows after = or a blank.

`

func newServeCommand(w World) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve --model-repository DIR [flags]",
		Short: "Serve models over HTTP and gRPC",
		Example: `  triton serve --model-repository models/
  triton serve --model-repository models/ --http-port 9000 --exit-on-error=false`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return serveUsage(said("Unexpected argument: %s", args[0]))
			}
			return nil
		},
	}
	flags := newServeFlags(cmd.Flags(), w.Getenv)
	book := flags.book
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		env := &environ{world: w, command: "serve"}
		_, file := env.lookup("config")
		err := settle(env, cmd.Flags(), firstOf(flags.config, file))
		for _, text := range env.ignored {
			flags.warn(text)
		}
		if err != nil {
			return serveUsage(book.explain(err))
		}
		return runServe(cmd.Context(), w, flags)
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return serveUsage(book.explain(err)) })
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		fmt.Fprintf(cmd.OutOrStdout(), "%sUsage:\n  %s\n\nExamples:\n%s\n\n%s", serveHelp, cmd.UseLine(), cmd.Example, book.usage())
	})
	return cmd
}

// serveUsage is a wrong command line of serve; Triton exits with 1 then.
func serveUsage(err error) error { return &exitError{exitFailure, err} }

func firstOf(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}

func runServe(ctx context.Context, w World, flags *serveFlags) error {
	warnings, err := flags.finish()
	if err != nil {
		return serveUsage(err)
	}
	if w.OutliveReaders != nil {
		w.OutliveReaders()
	}
	for _, text := range warnings {
		fmt.Fprintln(w.Stderr, text)
	}
	sink, err := log.Open(flags.log, w.Stdout, w.Stderr)
	if err != nil {
		return err
	}
	defer sink.Close()
	opts := flags.opts
	opts.Version, opts.Log, opts.Logs = w.Version, sink.Logger(), sink
	if flags.access {
		opts.Access = opts.Log
	}
	if w.Getenv("TRITON_SERVER_CPU_ONLY") != "" {
		opts.Metrics.GPU = false
	}
	search := librarySearch(w, flags)
	if _, err := onnx.Find(search); err != nil {
		opts.Log.Warn(fmt.Sprintf("models for ONNX Runtime will not be served: %s", err))
	}
	opts.Backends = server.NewBackends(search)
	opts.CUDA = openCUDA(w, &opts)
	opts.GPUs = gpuEnvironment(w, opts.CUDA)
	s, err := server.New(opts)
	if err != nil {
		return serveUsage(err)
	}
	return exit(w, runServer(ctx, w, s))
}

// librarySearch says where ONNX Runtime is looked for.
func librarySearch(w World, flags *serveFlags) onnx.Search {
	search := onnx.Search{Explicit: flags.library, Getenv: w.Getenv, Backends: flags.opts.BackendDirectory}
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		search.Executable = exe
	}
	if dir, err := os.Getwd(); err == nil {
		search.Directory = dir
	}
	return search
}

// runServer serves until a termination signal. The first lets the requests in
// flight finish; one that comes more than sameSignal later does not.
func runServer(ctx context.Context, w World, s *server.Server) error {
	ctx, cancel := context.WithCancel(ctx)
	signals, unsubscribe := w.Signals()
	done := make(chan struct{})
	var watch sync.WaitGroup
	stop := func(sig os.Signal) {
		number, _ := sig.(syscall.Signal)
		fmt.Fprintf(w.Stdout, "Signal (%d) received.\n", int(number))
		cancel()
	}
	watch.Go(func() {
		watchSignals(signals, done, stop, func(sig os.Signal) {
			s.Kill()
			stop(sig)
		})
	})
	err := onHeapFloor(func() error { return s.Run(ctx) })
	close(done)
	watch.Wait()
	unsubscribe()
	cancel()
	return err
}

// exit is the process's end: an error is written as Triton writes it.
func exit(w World, err error) error {
	if err == nil {
		return nil
	}
	if !errors.Is(err, context.Canceled) || errors.Is(err, server.ErrKilled) {
		fmt.Fprintf(w.Stderr, "error: %s\n", err)
	}
	return &exitError{exitFailure, nil}
}
