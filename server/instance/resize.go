package instance

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/backend"
)

// Resizing is a change of the instances of a group that serves: those that the new configuration has
// too stay, with their queue, sequences and counters. It is committed or discarded.
type Resizing struct {
	group            *Group
	workers, passive []*worker // of the new configuration
	fresh, surplus   []*worker
}

// Prepare creates and warms up the instances that a new configuration adds. An instance stays for one
// of the same kind and device, whose instance group differs in name and counts only, as in Triton. The
// caller prepares one change at a time, but may discard the one before it later.
func (g *Group) Prepare(ctx context.Context, placements, passive []backend.Placement) (*Resizing, error) {
	if len(placements) == 0 {
		return nil, status.New(status.InvalidArg, "model '%s' has passive instances only: none of them takes requests", g.opts.Name)
	}
	r := &Resizing{group: g, surplus: g.members.current()}
	slices.SortStableFunc(r.surplus, func(a, b *worker) int { return a.rank() - b.rank() }) // those that work stay first
	for _, at := range placements {
		w := r.keep(at, false)
		if w == nil {
			w = g.members.join(func(index int) *worker { return g.newWorker(at, g.source.Add(index)) })
			r.fresh = append(r.fresh, w)
		}
		r.workers = append(r.workers, w)
	}
	for _, at := range passive {
		w := r.keep(at, true)
		if w == nil {
			w = g.newWorker(at, nil)
			r.fresh = append(r.fresh, w)
		}
		r.passive = append(r.passive, w)
	}
	for i, w := range r.fresh {
		if w.slot == nil || g.opts.Occupy == nil {
			continue
		}
		if err := g.opts.Occupy(w.slot.Index, w.at); err != nil {
			for _, rest := range r.fresh[i:] {
				g.discard(rest)
				g.members.joined(rest)
			}
			r.fresh = r.fresh[:i]
			return nil, errors.Join(err, r.Discard())
		}
	}
	if err := g.create(ctx, r.fresh); err != nil {
		return nil, errors.Join(err, r.Discard())
	}
	return r, nil
}

// rank orders the instances of one kind by how much is lost without them.
func (w *worker) rank() int {
	w.life.Lock()
	defer w.life.Unlock()
	if w.life.state == Broken || w.life.state == Restarting {
		return 1
	}
	return 0
}

// keep moves an instance like the one of a placement from the surplus to those that stay; nil when
// there is none.
func (r *Resizing) keep(at backend.Placement, passive bool) *worker {
	i := slices.IndexFunc(r.surplus, func(w *worker) bool { return (w.slot == nil) == passive && alike(w.at, at) })
	if i < 0 {
		return nil
	}
	w := r.surplus[i]
	r.surplus = slices.Delete(r.surplus, i, i+1)
	return w
}

// alike reports whether an instance of one placement can serve as that of the other.
func alike(a, b backend.Placement) bool {
	return a.Kind == b.Kind && a.Device == b.Device && proto.Equal(signature(a.Group), signature(b.Group))
}

// signature returns an instance group without what does not concern its instances.
func signature(g *inferencepb.ModelInstanceGroup) *inferencepb.ModelInstanceGroup {
	if g == nil {
		return &inferencepb.ModelInstanceGroup{}
	}
	g = proto.CloneOf(g)
	g.Name, g.Count, g.Gpus, g.Kind = "", 0, nil, inferencepb.ModelInstanceGroup_KIND_AUTO
	return g
}

// Commit puts the added instances into service and takes those out of it that the new configuration
// does not have: these finish what they run, and their sequences. A group that drains is not changed.
func (r *Resizing) Commit() {
	g, m := r.group, &r.group.members
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		r.surplus = nil // the drain closes them
		if err := r.Discard(); err != nil {
			g.opts.Log.Error("closing instances", "model", g.opts.Name, "version", g.opts.Version, "error", err)
		}
		return
	}
	m.workers, m.passive, m.leaving = r.workers, r.passive, slices.Concat(m.leaving, r.surplus)
	g.indexSlots()
	for _, w := range r.fresh {
		m.joining = without(m.joining, w)
		if w.slot != nil { // running is not zero: the instances that there were are counted
			g.running.Add(1)
			g.goroutines.Add(1)
		}
	}
	for _, w := range r.surplus {
		if w.slot == nil {
			g.running.Add(1)
			g.goroutines.Add(1)
		}
	}
	m.mu.Unlock()
	for _, w := range r.fresh {
		if w.slot != nil {
			g.source.Restore(w.slot)
			g.begin(w)
		}
	}
	for _, w := range r.surplus { // after the others serve
		close(w.removed)
		if w.slot != nil {
			g.source.Remove(w.slot)
			continue
		}
		go func() {
			defer g.ended()
			g.leaveIfRemoved(w)
		}()
	}
}

// Wait waits until the instances that were taken out of service are closed, or until ctx ends.
func (r *Resizing) Wait(ctx context.Context) {
	for _, w := range r.surplus {
		select {
		case <-w.left:
		case <-ctx.Done():
			return
		}
	}
}

// Discard closes the added instances. The group serves as before.
func (r *Resizing) Discard() error {
	var errs []error
	for _, w := range r.fresh {
		w.setState(Closed, "")
		errs = append(errs, r.group.closeInstance(w))
		r.group.vacate(w)
		r.group.members.joined(w)
	}
	r.fresh = nil
	return errors.Join(errs...)
}

// indexSlots makes the workers known by their slots, also those that leave. The caller holds the lock
// of the members.
func (g *Group) indexSlots() {
	var all []*worker
	for _, w := range slices.Concat(g.members.workers, g.members.leaving) {
		for w.slot != nil && len(all) <= w.slot.Index {
			all = append(all, nil)
		}
		if w.slot != nil {
			all[w.slot.Index] = w
		}
	}
	g.bySlot.Store(&all)
}

// leaveIfRemoved closes the instance of a worker that a change of the instance groups has removed.
func (g *Group) leaveIfRemoved(w *worker) {
	select {
	case <-w.removed:
	default:
		return
	}
	w.stopWatching()
	w.setState(Closed, "")
	if err := g.closeInstance(w); err != nil {
		g.opts.Log.Error("closing an instance", "model", g.opts.Name, "version", g.opts.Version, "instance", w.at.Name, "error", err)
	}
	g.vacate(w)
	g.members.left(w)
	close(w.left)
}

// vacate ends the use of a slot for which Occupy may have been called.
func (g *Group) vacate(w *worker) {
	if w.slot != nil && g.opts.Vacate != nil {
		g.opts.Vacate(w.slot.Index)
	}
	g.discard(w)
}

// discard ends the use of a slot.
func (g *Group) discard(w *worker) {
	if w.slot != nil {
		g.source.Discard(w.slot)
	}
}
