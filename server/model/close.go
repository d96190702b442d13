package model

import (
	"context"
	"fmt"

	"triton/pkg/inferencepb"
	"triton/server/instance"
	"triton/server/stats"
)

// FinishSequences refuses new sequences. The channel is closed when the open ones are
// finished; it is nil when the model keeps no sequences.
func (v *Loaded) FinishSequences() <-chan struct{} {
	if v.sequences == nil {
		return nil
	}
	return v.sequences.Stop()
}

// Close gives up the repository's reference, waits for the requests' ones and
// closes the instances and the model. False when ctx ended before that; Close may
// then be called again.
func (b *Builder) Close(ctx context.Context, v *Loaded) (closed bool, err error) {
	v.Leave()
	select {
	case <-v.drained:
	case <-ctx.Done():
	}
	if v.closed.Load() {
		return true, nil
	}
	v.settle(ctx)
	if v.sequences != nil && !v.replaced {
		v.sequences.CloseBefore()
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
	b.unlimit(v)
	v.folder.Release()
	if !v.replaced {
		b.opts.Log.Info(fmt.Sprintf("successfully unloaded '%s' version %d", v.label, v.number))
	}
	return true, err
}

// settle waits for the sequences that go on with the instances of a version
// while others have taken its place, or until ctx ends.
func (v *Loaded) settle(ctx context.Context) {
	if !v.replaced || v.sequences == nil {
		return
	}
	select {
	case <-v.sequences.Stop():
	case <-ctx.Done():
	}
}

// Remark says which instances of a version that serves do not work; empty when all
// do.
func (v *Loaded) Remark() string {
	if v.group == nil {
		return ""
	}
	all := v.group.Instances()
	working := 0
	var why string
	for _, i := range all {
		switch {
		case i.State == instance.Ready:
			working++
		case why == "" && i.Reason != "":
			why = fmt.Sprintf(": '%s' is %s: %s", i.Name, i.State, i.Reason)
		case why == "":
			why = fmt.Sprintf(": '%s' is %s", i.Name, i.State)
		}
	}
	if working == len(all) {
		return ""
	}
	return fmt.Sprintf("%d of %d instances work%s", working, len(all), why)
}

// Statistics are the counters and what the engine says it holds.
func (v *Loaded) Statistics() *inferencepb.ModelStatistics {
	s := v.stats.Snapshot()
	if v.group == nil {
		return s
	}
	for _, m := range v.group.Memory() {
		s.MemoryUsage = append(s.MemoryUsage, &inferencepb.MemoryUsage{Type: m.Place, Id: m.ID, ByteSize: m.Bytes})
	}
	return s
}

// Served is the version as the metrics list it.
func (v *Loaded) Served() stats.Served {
	return stats.Served{Model: v.stats, Namespace: v.space, Tags: v.config.GetMetricTags(), LoadSeconds: v.seconds}
}
