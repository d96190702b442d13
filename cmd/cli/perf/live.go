package perf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"triton/cmd/cli/process"
	"triton/perf"
	"triton/perf/load"
	"triton/perf/result"
)

// liveRepeats is how often `triton perf compare --live` measures each server unless --repeat says otherwise.
const liveRepeats = 5

// live is `triton perf compare --live`: it measures two servers in turn, so that what changes on the machine
// meanwhile concerns both.
type live struct {
	process   process.Process
	sides     [2]*options
	files     [2]*result.File
	repeats   int
	interrupt chan struct{}
}

// runLive measures two servers and compares them.
func runLive(ctx context.Context, p process.Process, o compareOptions, addresses, args []string) error {
	options, err := o.options()
	switch {
	case err != nil:
		return process.UsageError("%w", err)
	case o.baseline != "":
		return process.UsageError("--baseline is a file, and --live measures both sides")
	}
	l, err := newLive(p, addresses, args)
	if err != nil {
		return process.UsageError("%w", err)
	}
	if err := l.measure(ctx); err != nil { // also if the user ended it: a gate must not pass for that
		return &process.ExitError{Code: process.Usage, Err: err}
	}
	if o.save != "" {
		if err := l.save(o.save); err != nil {
			return &process.ExitError{Code: process.Usage, Err: fmt.Errorf("--save: %w", err)}
		}
	}
	c, err := compareSides(l.side(0), l.side(1), options)
	if err != nil {
		return &process.ExitError{Code: process.Usage, Err: err}
	}
	return o.end(p, c, options)
}

// newLive reads the options of the measurement, which are those of `triton perf`, for two servers.
func newLive(p process.Process, addresses, args []string) (*live, error) {
	if len(addresses) != 2 {
		return nil, errors.New("perf compare --live takes the addresses of two servers, and behind -- the options of triton perf")
	}
	l := &live{process: p, interrupt: make(chan struct{})}
	for i, address := range addresses {
		all, err := parseAll(p, append(append([]string(nil), args...), "-u", address))
		if err != nil {
			return nil, err
		}
		o := all[0]
		switch {
		case len(all) > 1:
			return nil, errors.New("perf compare --live measures one model")
		case o.csv != "" || o.export != "" || len(o.targets) > 0:
			return nil, errors.New("with --live the files of options behind -- are not written: use --save FOLDER")
		case o.config.Levels() == 0:
			return nil, errors.New("perf compare --live needs levels that do not depend on the results: a range with an end, and no binary search")
		}
		l.repeats = max(o.config.Repeats, 1)
		if o.config.Repeats <= 1 {
			l.repeats = liveRepeats
		}
		o.config.Repeats = 1
		l.sides[i] = o
	}
	return l, nil
}

// measure measures every level of one server and then of the other, and both again, each time in the other
// order. After the first signal it ends with the repeats that both servers have.
func (l *live) measure(ctx context.Context) error {
	defer load.RelaxCollector()()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := l.process.OnSignal(process.SignalWindow, func(os.Signal) {
		fmt.Fprintln(l.process.Stderr, "Interrupted: comparing the repeats that are complete.")
		close(l.interrupt)
	}, func(os.Signal) { cancel(errQuit) })
	defer func() {
		cancel(nil)
		stop()
	}()
	pairing := time.Now().UTC().Format(time.RFC3339Nano)
	for repeat := 1; repeat <= l.repeats; repeat++ {
		complete, err := l.measureRepeat(ctx, repeat, pairing)
		switch {
		case context.Cause(ctx) != nil:
			return errors.New("interrupted: nothing is compared")
		case err != nil:
			return err
		case !complete && repeat == 1:
			return errors.New("interrupted before both servers were measured once: there is nothing to compare")
		case !complete:
			return nil
		}
	}
	return nil
}

// measureRepeat measures both servers once, in an order that alternates, and reports whether no interrupt
// ended it.
func (l *live) measureRepeat(ctx context.Context, repeat int, pairing string) (complete bool, err error) {
	var round [2]*result.File
	order := [2]int{0, 1}
	if repeat%2 == 0 {
		order = [2]int{1, 0}
	}
	for _, i := range order {
		if round[i], err = l.measureSide(ctx, i); err != nil || round[i] == nil {
			return false, err
		}
		fmt.Fprintf(l.process.Stderr, "repeat %d of %d, %s: %s\n", repeat, l.repeats, sideName(i), throughputs(round[i]))
	}
	for i, f := range round {
		l.add(i, repeat, pairing, f)
	}
	return true, nil
}

func sideName(i int) string { return "AB"[i : i+1] }

func (l *live) side(i int) result.Side {
	name := l.sides[i].client.Address
	return result.Side{Name: name, Runs: []result.Run{{Name: name, File: l.files[i]}}}
}

// measureSide measures the levels of one server once. It returns nil if the interrupt ended it.
func (l *live) measureSide(ctx context.Context, i int) (*result.File, error) {
	o := l.sides[i]
	notices := &noticeObserver{}
	rep, err := perf.Run(ctx, o.config, perf.Deps{
		Dial: o.dial(l.process), Observer: notices, Alarm: load.PreciseAlarm, Usage: usage,
		OneThread: oneThread(l.process, o, false), Interrupt: l.interrupt,
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s (%s): %w", sideName(i), o.client.Address, err)
	case rep.Interrupted:
		return nil, nil
	}
	fmt.Fprint(l.process.Stderr, notices.text.String())
	return result.New(rep, fileOptions(l.process, o)), nil
}

// add adds the levels of a repeat to the result of a server.
func (l *live) add(i, repeat int, pairing string, f *result.File) {
	all := l.files[i]
	if all == nil {
		all, l.files[i] = f, f
		all.Settings.Live, all.Settings.Repeats = pairing, l.repeats
		for k := range all.Levels {
			all.Levels[k].Repeat = repeat
		}
		return
	}
	for _, level := range f.Levels {
		level.Repeat, level.Number = repeat, len(all.Levels)+1
		all.Levels = append(all.Levels, level)
	}
}

// throughputs names the figures of a repeat, so that one sees what happens.
func throughputs(f *result.File) string {
	text := ""
	for _, level := range f.Levels {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%.0f", level.Throughput)
	}
	return text + " infer/s"
}

// save writes the two results into a folder.
func (l *live) save(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for i, name := range []string{"a.json", "b.json"} {
		if err := process.WriteFile(filepath.Join(folder, name), func(w io.Writer) error { return l.files[i].Write(w) }); err != nil {
			return err
		}
	}
	return nil
}
