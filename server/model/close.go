package model

import (
	"context"
	"fmt"
	"time"

	"triton/server/loadphase"
)

// FinishSequences refuses new sequences. The channel is closed when the open ones are
// finished; it is nil when the model keeps no sequences.
func (v *LoadedVersion) FinishSequences() <-chan struct{} {
	if v.sequences == nil {
		return nil
	}
	return v.sequences.Stop()
}

// Close releases the repository's reference, waits until the requests have released theirs,
// and closes the instances and the backend model. It returns false when ctx ends first; Close may
// then be called again.
func (b *Builder) Close(ctx context.Context, v *LoadedVersion) (closed bool, err error) {
	v.Retire()
	select {
	case <-v.drained:
	case <-ctx.Done():
	}
	if v.closed.Load() {
		return true, nil
	}
	v.finishReplaced(ctx)
	var times loadphase.Times
	begin := time.Now()
	times[loadphase.Drain] = begin.Sub(time.Unix(0, v.retiredAt.Load()))
	if v.sequences != nil && !v.replaced {
		v.sequences.ClosePrevious()
	}
	if err = v.runner.Drain(ctx); err != nil {
		err = fmt.Errorf("unloading '%s' version %d: %w", v.label, v.number, err)
		if ctx.Err() != nil {
			return false, err
		}
	}
	if v.closed.Swap(true) {
		return true, err
	}
	v.samples.Close()
	v.closeStrategy()
	b.removeFromLimiter(v)
	v.folder.Release()
	times.Add(loadphase.Close, begin)
	b.opts.Phases.Record(v.namespace, v.model, &times)
	b.opts.Log.Debug(fmt.Sprintf("closed '%s' version %d: %s", v.label, v.number, &times))
	if !v.replaced {
		b.opts.Log.Info(fmt.Sprintf("successfully unloaded '%s' version %d", v.label, v.number))
	}
	return true, err
}

// finishReplaced waits until the open sequences of a replaced version are finished, or until
// ctx ends. They stay on the instances on which they began.
func (v *LoadedVersion) finishReplaced(ctx context.Context) {
	if !v.replaced || v.sequences == nil {
		return
	}
	select {
	case <-v.sequences.Stop():
	case <-ctx.Done():
	}
}
