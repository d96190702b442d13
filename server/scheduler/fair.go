package scheduler

import (
	"container/heap"

	"triton/server/infer"
)

// turns holds the requests of one level whose turn is not decided. When a batch is formed the
// callers take turns: a caller's share of the rows is in proportion to its weight, and the requests
// of one caller keep their order. This is start-time fair queueing; the tag of a request is
// computed when it becomes the first one of its caller, so that requests which leave the queue in
// another way cost their caller nothing.
type turns struct {
	classes [infer.Classes]class // in the order of service
	n       int
}

// class holds the callers of one priority class.
type class struct {
	flows map[*infer.Caller]*flow
	ready IndexedHeap[*flow, byStart] // that have requests, by turn
	most  IndexedHeap[*flow, byUse]   // the same, by how much of the queue they use
	// now is the virtual time: the start of the last request that had its turn. last is the
	// latest finish.
	now, last uint64
	n         int // requests
	sweep     int // number of flows at which idle ones are removed
}

// flow is the part of a queue that one caller uses.
type flow struct {
	waiting infer.List
	weight  uint64
	// start is the virtual time at which the first request is due, and finish that at which the
	// last one that had its turn has used its share.
	start, finish uint64
	turn, rank    int // in the heaps ready and most of the class
	delay         standing
}

// rowTime is the virtual time of a row at weight 1, which weights up to 16 divide. A request counts as at most
// maxRows rows, so that the times of all flows are less than half of the range of uint64 apart: they may wrap
// around.
const (
	rowTime = 720720
	maxRows = 1 << 20
)

// minSweep is the least number of flows at which idle ones are looked for.
const minSweep = 64

func classOf(r *infer.Request) int { return r.ClassOf().Turn() }

// push adds a request behind those of its caller.
func (t *turns) push(r *infer.Request) {
	r.Position.Undecided = true
	t.n++
	c := &t.classes[classOf(r)]
	c.n++
	f := c.flow(r.Caller)
	f.waiting.Push(r)
	if f.waiting.Len() > 1 {
		heap.Fix(&c.most, f.rank)
		return
	}
	f.start = later(c.now, f.finish)
	heap.Push(&c.ready, f)
	heap.Push(&c.most, f)
}

// flow returns the flow of a caller, and adds it if needed.
func (c *class) flow(by *infer.Caller) *flow {
	if f := c.flows[by]; f != nil {
		return f
	}
	if len(c.flows) >= max(c.sweep, minSweep) {
		c.removeIdle()
	}
	f := &flow{weight: weight(by), finish: c.now}
	if c.flows == nil {
		c.flows = map[*infer.Caller]*flow{}
	}
	c.flows[by] = f
	return f
}

// removeIdle removes the flows that have nothing waiting and have not used more than their share.
func (c *class) removeIdle() {
	for by, f := range c.flows {
		if f.waiting.Len() == 0 && int64(f.finish-c.now) <= 0 { //nolint:gosec // the times wrap around
			delete(c.flows, by)
		}
	}
	c.sweep = 2 * len(c.flows)
}

func weight(by *infer.Caller) uint64 {
	if by == nil {
		return 1
	}
	return uint64(max(by.Weight, 1))
}

// first returns the class and the flow whose turn is next; nil when nothing waits.
func (t *turns) first() (*class, *flow) {
	for i := range t.classes {
		if c := &t.classes[i]; len(c.ready) > 0 {
			return c, c.ready[0]
		}
	}
	return nil, nil
}

// next removes the request whose turn it is from its flow.
func (t *turns) next(c *class, f *flow) *infer.Request {
	r := f.waiting.Pop()
	c.now = f.start
	f.finish = f.start + uint64(min(r.Rows(), maxRows))*rowTime/f.weight //nolint:gosec // at least 1
	f.start, c.last = f.finish, later(c.last, f.finish)
	t.left(c, f, r)
	return r
}

// remove removes a request that waits for its turn.
func (t *turns) remove(r *infer.Request) {
	c := &t.classes[classOf(r)]
	f := c.flows[r.Caller]
	f.waiting.Remove(r)
	t.left(c, f, r)
}

// left records that a request has left its flow.
func (t *turns) left(c *class, f *flow, r *infer.Request) {
	r.Position.Undecided = false
	t.n--
	c.n--
	switch {
	case f.waiting.Len() > 0:
		heap.Fix(&c.ready, f.turn)
		heap.Fix(&c.most, f.rank)
	default:
		heap.Remove(&c.ready, f.turn)
		heap.Remove(&c.most, f.rank)
		f.delay.empty()
	}
	if c.n == 0 { // nobody waited, so nobody has used the share of another
		c.now = c.last
	}
}

// largest returns the flow with the most requests for its weight; nil without any.
func (c *class) largest() *flow {
	if len(c.most) == 0 {
		return nil
	}
	return c.most[0]
}

// usesLess reports whether a caller with one more request would have fewer for its weight than f.
func (c *class) usesLess(by *infer.Caller, f *flow) bool {
	n := uint64(1)
	if own := c.flows[by]; own != nil {
		n += uint64(own.waiting.Len()) //nolint:gosec // a length
	}
	return n*f.weight < uint64(f.waiting.Len())*weight(by) //nolint:gosec // a length
}

// ahead returns how many requests would have their turn before a new one of a caller.
func (t *turns) ahead(r *infer.Request) int {
	n, own := 0, classOf(r)
	for i := range own {
		n += t.classes[i].n
	}
	c, before := &t.classes[own], uint64(0)
	if f := c.flows[r.Caller]; f != nil {
		before = uint64(f.waiting.Len()) //nolint:gosec // a length
	}
	w := weight(r.Caller)
	for _, f := range c.ready { // of each at most its share while the caller's own are served
		n += int(min(uint64(f.waiting.Len()), (before+1)*f.weight/w)) //nolint:gosec // a length
	}
	return n
}

// later returns the later one of two virtual times.
func later(a, b uint64) uint64 {
	if int64(a-b) > 0 { //nolint:gosec // the times wrap around
		return a
	}
	return b
}

// byStart orders flows by start; callers that may start at the same time take turns in the order in
// which their requests came.
type byStart struct{}

// Before implements HeapOrder.
func (byStart) Before(a, b *flow) bool {
	if a.start != b.start {
		return int64(a.start-b.start) < 0 //nolint:gosec // the times wrap around
	}
	return a.waiting.Front().Position.Arrival < b.waiting.Front().Position.Arrival
}

// Index implements HeapOrder.
func (byStart) Index(f *flow) *int { return &f.turn }

// byUse orders flows by the number of requests for their weight, the most first. Of a full queue the
// largest user is needed for each arrival, under the lock of the queue.
type byUse struct{}

// Before implements HeapOrder.
func (byUse) Before(a, b *flow) bool {
	return uint64(a.waiting.Len())*b.weight > uint64(b.waiting.Len())*a.weight //nolint:gosec // lengths
}

// Index implements HeapOrder.
func (byUse) Index(f *flow) *int { return &f.rank }
