package traffic

import (
	"slices"
	"sync"
	"sync/atomic"

	"triton/pkg/trafficrules"
)

// shadowCounts are the results of the comparisons.
type shadowCounts struct {
	dropped, skipped atomic.Uint64
	kept             int // maximum number of diffs

	mu    sync.Mutex
	total trafficrules.ShadowStatus
	diffs []trafficrules.Diff // a ring
	next  int                 // where the next diff goes once the ring is full
}

// add counts a comparison. base is the part that its diffs share.
func (n *shadowCounts) add(c *trafficrules.Shadow, r comparison, base trafficrules.Diff) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.total.Compared++
	n.total.Elements += r.elements
	n.total.MismatchedElements += r.mismatched
	n.total.MaxAbsError = max(n.total.MaxAbsError, r.maxAbs)
	if len(r.diffs) > 0 {
		n.total.Mismatched++
	}
	for _, d := range r.diffs {
		d.Time, d.RequestID, d.Primary, d.Shadow = base.Time, base.RequestID, base.Primary, base.Shadow
		if c.HideContents {
			d.PrimaryValue, d.ShadowValue = "", ""
		}
		n.keep(d)
	}
}

// fail counts a copy that was not answered.
func (n *shadowCounts) fail(d trafficrules.Diff) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.total.Failed++
	n.keep(d)
}

// keep adds a diff to the ring. The caller holds the lock.
func (n *shadowCounts) keep(d trafficrules.Diff) {
	switch {
	case n.kept == 0:
	case len(n.diffs) < n.kept:
		n.diffs = append(n.diffs, d)
	default:
		n.diffs[n.next] = d
		n.next = (n.next + 1) % n.kept
	}
}

func (n *shadowCounts) status(diffs bool) *trafficrules.ShadowStatus {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.total
	s.Dropped, s.Skipped = n.dropped.Load(), n.skipped.Load()
	if diffs {
		s.Diffs = append(slices.Clone(n.diffs[n.next:]), n.diffs[:n.next]...)
		slices.Reverse(s.Diffs)
	}
	return &s
}
