package model

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"triton/pkg/inferencepb"
	"triton/server/backend"
	"triton/server/backend/plugin"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/scheduler"
	"triton/server/scheduler/sequence"
)

// running is what serves the requests of a version: the runner chain down to the instances. Versions
// that differ in their instance groups only share it, one after the other: the queue, the open
// sequences and the instances that stay are not disturbed.
type running struct {
	// runner runs the requests that passed the checks. It ends in group, unless the version
	// is an ensemble: then group is nil.
	runner   infer.Runner
	group    *instance.Group
	backend  backend.Backend    // that loaded the model
	observer scheduler.Observer // of the batches; may be nil
	estimate *finishEstimate    // what admission control has learned from them; nil without admission control
	queue    aheadCounter
	gate     *scheduler.RateGate // nil without a rate limiter
	samples  *warmUpPlan         // requests that new instances run first; nil: none
	strategy *plugin.Strategy    // custom batching functions; nil: none
	// sequences is the scheduler of a model with sequence batching, else nil.
	sequences *sequence.Source
	// warmUpTime is that of the instance that took longest.
	warmUpTime atomic.Int64

	cleanUp sync.Once // after the last version is closed
	mu      sync.Mutex
	// users are the versions that use it; true: its Close has begun.
	users map[*LoadedVersion]bool
}

func newRunning(v *LoadedVersion) *running {
	return &running{users: map[*LoadedVersion]bool{v: false}}
}

// share adds a further version that uses r.
func (r *running) share(v *LoadedVersion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users[v] = false
}

// closing records that a version is being closed, once or again. It reports whether all versions that use r
// are: then each of them closes r.
func (r *running) closing(v *LoadedVersion) (last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, uses := r.users[v]; !uses {
		return false // it has left
	}
	r.users[v] = true
	for _, closes := range r.users {
		if !closes {
			return false
		}
	}
	return true
}

// versions returns the versions that use r.
func (r *running) versions() []*LoadedVersion {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.users))
}

// leave records that a version is closed while others use r.
func (r *running) leave(v *LoadedVersion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.users, v)
}

// resizing is the change of instances that a version made by ReplaceInstances begins with.
type resizing struct {
	change *instance.Resizing // nil for other versions
	serves atomic.Bool        // it is committed
	once   sync.Once          // of abandon: a version may be closed by several callers
}

// abandon closes the added instances if they never served.
func (r *resizing) abandon() (err error) {
	if r.change != nil && !r.serves.Load() {
		r.once.Do(func() { err = r.change.Discard() })
	}
	return err
}

// Takeover begins the change of instances that a version made by ReplaceInstances stands for: the added
// ones serve, the surplus ones finish what they run. The old version no longer counts as their user.
func (v *LoadedVersion) Takeover(old *LoadedVersion) {
	old.replaced.Store(true)
	if v.resizing.change != nil {
		v.resizing.serves.Store(true)
		v.resizing.change.Commit()
	}
}

// WaitSurplus waits until the instances that Takeover took out of service are closed, or until ctx ends.
// It does not wait for sequences.
func (v *LoadedVersion) WaitSurplus(ctx context.Context) {
	if v.resizing.change != nil && v.sequences == nil {
		v.resizing.change.Wait(ctx)
	}
}

// resize prepares the instances of a version that differs from old, which serves, in its instance groups
// only.
func (b *Builder) resize(ctx context.Context, v, old *LoadedVersion, c *inferencepb.ModelConfig) error {
	placements, err := b.placements(c)
	if err != nil {
		return err
	}
	run, passive := split(placements)
	v.warmUpTime.Store(0)
	if v.resizing.change, err = old.group.Prepare(ctx, run, passive); err != nil {
		return err
	}
	old.share(v)
	return nil
}

// occupy makes an instance that is added known to the rate limiter and to admission control.
func (b *Builder) occupy(r *running) func(slot int, at backend.Placement) error {
	return func(slot int, at backend.Placement) error {
		if r.gate != nil {
			err := r.gate.Add(slot, limited(at))
			b.logResources()
			if err != nil {
				return err
			}
		}
		if r.estimate != nil {
			r.estimate.Add(slot)
		}
		return nil
	}
}

// vacate removes an instance that is closed from them.
func (b *Builder) vacate(r *running) func(slot int) {
	return func(slot int) {
		if r.gate != nil {
			r.gate.Remove(slot)
			b.logResources()
		}
		if r.estimate != nil {
			r.estimate.Remove(slot)
		}
	}
}
