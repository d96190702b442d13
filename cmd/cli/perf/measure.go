package perf

import (
	"context"
	"errors"
	"os"

	"triton/cmd/cli/process"
	"triton/perf"
	"triton/perf/load"
	"triton/perf/report"
	measurement "triton/pkg/measure"
)

// errQuit is the cause of the cancellation when the second signal ends the measurement.
var errQuit = errors.New("quit")

// measure runs the measurement and shows it. The first signal ends it after the requests
// in flight, one after process.SignalWindow at once.
func measure(ctx context.Context, p process.Process, o *options) (*perf.Report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	show := screen(p, o)
	out := report.NewScreen(show)
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
	o.config.Live = show.Live != nil
	rep, err := perf.Run(ctx, o.config, perf.Deps{
		Dial:       o.dial(p),
		Profiled:   o.profiled(),
		Observer:   o.observer(out),
		Alarm:      load.PreciseAlarm,
		Usage:      usage,
		RoundTrips: measurement.RoundTrips,
		Shared:     o.together,
		OneThread:  oneThread(p, o, o.config.Live),
		Interrupt:  interrupt,
	})
	err = errors.Join(err, out.Close())
	if errors.Is(context.Cause(ctx), errQuit) {
		return nil, errQuit
	}
	return rep, err
}

// screen decides where text and the live view go. With a result on standard output the text
// goes to standard error. The view is on the terminal of the text, or else on that of standard
// error.
func screen(p process.Process, o *options) report.ScreenOptions {
	s := report.ScreenOptions{
		Out: p.Stdout, Notes: p.Stderr,
		Verbose: o.verbose > 0,
		Color:   p.Getenv("NO_COLOR") == "",
		Table:   o.table == "always" || o.table == "auto" && (p.StdoutTerminal || len(o.config.Batches) > 1),
	}
	dumb := p.Getenv("TERM") == "dumb" // its cursor does not move
	outLive, errLive := p.StdoutTerminal && !dumb, p.StderrTerminal && !dumb
	if o.targets.Stdout() {
		s.Out, outLive = p.Stderr, errLive
		s.Table = o.table == "always"
	}
	s.OutShared, s.NotesShared = outLive, errLive
	switch {
	case o.noTUI || o.verbose > 0:
	case outLive:
		s.Live = s.Out
	case errLive:
		s.Live = p.Stderr
	}
	return s
}
