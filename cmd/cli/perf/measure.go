package perf

import (
	"context"
	"errors"
	"os"

	"triton/cmd/cli/process"
	"triton/perf"
	"triton/perf/load"
	"triton/perf/report"
	"triton/pkg/client/lane"
)

// errQuit is the cause of the cancellation when the second signal ends the measurement.
var errQuit = errors.New("quit")

// measure runs the measurement and shows it. The first signal ends it after the requests
// in flight, one after process.SignalWindow at once.
func measure(ctx context.Context, p process.Process, o *options) (*perf.Report, error) {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	live := p.StdoutTerminal && o.verbose == 0
	out := report.NewScreen(report.ScreenOptions{
		Out: p.Stdout, Notes: p.Stderr,
		Verbose: o.verbose > 0,
		Live:    live, NotesElsewhere: !p.StderrTerminal,
		Table: o.table == "always" || o.table == "auto" && (p.StdoutTerminal || len(o.config.Batches) > 1),
	})
	interrupt := make(chan struct{})
	stop := p.OnSignal(process.SignalWindow, func(os.Signal) {
		out.Print("Interrupt signal (2) received.\nWaiting for in-flight inferences to complete.")
		close(interrupt)
	}, func(os.Signal) {
		if context.Cause(ctx) != nil {
			return
		}
		out.Quit("Interrupt signal (2) received.\nExiting immediately...")
		cancel(errQuit)
	})
	defer func() {
		cancel(nil)
		stop()
	}()
	o.config.Live = live
	rep, err := perf.Run(ctx, o.config, perf.Deps{
		Dial: func(context.Context) (perf.Target, error) {
			return perf.Connect(lane.Options{Options: o.client, Streaming: o.config.Streaming, Compression: o.compression})
		},
		Observer:  o.observer(out),
		Alarm:     load.PreciseAlarm,
		Interrupt: interrupt,
	})
	err = errors.Join(err, out.Close())
	if errors.Is(context.Cause(ctx), errQuit) {
		return nil, errQuit
	}
	return rep, err
}
