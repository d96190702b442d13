package model

import (
	"context"
	"fmt"
	"time"

	"triton/server/stats"
)

// FinishSequences refuses new sequences. The channel is closed when the open ones are
// finished; it is nil when the model keeps no sequences, or when another version has them.
func (v *LoadedVersion) FinishSequences() <-chan struct{} {
	if v.sequences == nil || v.replaced.Load() {
		return nil
	}
	return v.sequences.Stop()
}

// Close releases the repository's reference, waits until the requests have released theirs,
// and closes the instances and the backend model. It returns false when ctx ends first; Close may
// then be called again.
func (b *Builder) Close(ctx context.Context, v *LoadedVersion) (closed bool, err error) {
	v.Retire() // for a version that serves until the drain; the repository has done it for the others
	last := v.closing(v)
	select {
	case <-v.drained:
	case <-ctx.Done():
	}
	// In both cases what serves is closed as far as possible: closeRunning asks again.
	if v.closed.Load() {
		return true, nil
	}
	var times stats.LoadTimes
	begin := time.Now()
	times[stats.PhaseDrain] = begin.Sub(time.Unix(0, v.retiredAt.Load()))
	if closed, err = b.closeRunning(ctx, v, last); !closed {
		return false, err
	}
	if v.closed.Swap(true) {
		return true, err
	}
	v.folder.Release()
	times.Add(stats.PhaseClose, begin)
	b.opts.Phases.Record(v.namespace, v.model, &times)
	b.opts.Log.Debug(fmt.Sprintf("closed '%s' version %d: %s", v.label, v.number, &times))
	if !v.replaced.Load() {
		b.opts.Log.Info(fmt.Sprintf("successfully unloaded '%s' version %d", v.label, v.number))
	}
	return true, err
}

// closeRunning closes what serves a version if no other version uses it.
func (b *Builder) closeRunning(ctx context.Context, v *LoadedVersion, last bool) (closed bool, err error) {
	fail := func(err error) error {
		return fmt.Errorf("unloading '%s' version %d: %w", v.label, v.number, err)
	}
	if !last {
		select {
		case <-v.drained:
		default:
			return false, fail(context.Cause(ctx))
		}
		err = v.resizing.abandon()
		v.leave(v) // last: the backend's model outlives its instances
		return true, err
	}
	for _, user := range v.versions() {
		if err = user.resizing.abandon(); err != nil {
			b.opts.Log.Error("closing added instances", "model", v.label, "version", v.number, "error", err)
		}
	}
	if err = v.runner.Drain(ctx); err != nil {
		err = fail(err)
		if ctx.Err() != nil {
			return false, err
		}
	}
	v.cleanUp.Do(func() {
		v.samples.Close()
		v.closeStrategy()
		b.removeFromLimiter(v)
	})
	return true, err
}
