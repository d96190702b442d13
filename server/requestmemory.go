package server

import (
	"context"
	"io/fs"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"triton/pkg/tensor"
	"triton/server/backend/python"
	"triton/server/cache"
	"triton/server/memory"
)

const (
	// memoryReserve is the part of the memory that is left to the system and to what nothing counts.
	memoryReserve = 0.15
	// minRequestShare is the part of the memory that is the least budget for requests, however much
	// the models hold.
	minRequestShare = 1. / 16
	// memoryInterval is the time from one look at the memory to the next.
	memoryInterval = 250 * time.Millisecond
)

// requestMemory keeps the budget for requests in step with the memory that is left.
//
// The budget is half of what the models and the program leave: requests use it once, in pools or on
// the Go heap, and as much again may be garbage, or free memory of pools, that waits for reuse. So
// all of it together stays below the limit of the machine or the control group.
type requestMemory struct {
	budget *memory.Budget
	root   fs.FS
	pools  func() []*tensor.Pool
	cache  int64 // bytes that the response cache may hold in the pool
	fixed  bool  // the budget does not follow the memory
	heap   bool  // the limit of the Go heap follows the budget

	// Of the process, as last measured: the Go heap after the start, and what is neither in
	// pools nor on the Go heap, such as the memory of engines and the processes of models.
	goBase int64
	other  map[int64]int64 // by the limit of the group
	last   int64           // budget that was set
}

func newRequestMemory(o *Options) *requestMemory {
	return &requestMemory{
		budget: memory.New(o.RequestMemory), root: rootFS(), fixed: o.RequestMemory > 0, heap: o.LimitHeap, other: map[int64]int64{},
	}
}

// watch follows the memory until ctx ends.
func (m *requestMemory) watch(ctx context.Context) {
	if m.heap {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	}
	tick := time.NewTicker(memoryInterval)
	defer tick.Stop()
	for {
		m.look()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look measures the memory and sets the budget.
func (m *requestMemory) look() {
	heap := goMemory()
	if m.goBase == 0 {
		m.goBase = heap
	}
	own := heap
	for _, p := range m.pools() {
		own += p.Resident()
	}
	room, least, short := int64(math.MaxInt64), int64(0), false
	quiet := m.budget.Total() <= m.cache+m.budget.Limit()/16
	for _, g := range memoryGroups(m.root) {
		// Memory of pools that nothing was written to is in own, but not in the group. So other is
		// exact only while requests use little.
		other, known := m.other[g.limit]
		if now := max(g.held()-own, 0); now > other || quiet || !known {
			other = now
			m.other[g.limit] = other
		}
		usable := g.limit - int64(memoryReserve*float64(g.limit))
		if free := usable - other - m.goBase - m.cache; free < room {
			room, least = free, int64(minRequestShare*float64(g.limit))
		}
		short = short || g.held() > usable-usable/8
	}
	if room == math.MaxInt64 { // the memory is not known
		return
	}
	if short {
		for _, p := range m.pools() {
			p.Trim()
		}
	}
	limit := max(room/2, least) + m.cache
	if m.fixed {
		limit = m.budget.Limit()
	}
	if d := limit - m.last; m.last > 0 && max(d, -d) < m.last/32 {
		return
	}
	m.last = limit
	m.budget.SetLimit(limit)
	if m.heap {
		debug.SetMemoryLimit(m.goBase + limit)
	}
}

// goMemory returns the bytes that the Go runtime has from the system.
func goMemory() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// tensorPools returns the pools whose memory requests use.
func (s *Server) tensorPools() []*tensor.Pool {
	all := []*tensor.Pool{s.pool}
	if b, ok := s.opts.Backends[python.Name].(*python.Backend); ok {
		if p := b.Pool(); p != nil {
			all = append(all, p)
		}
	}
	return all
}

// watchMemory starts to follow the memory; stop ends that.
func (s *Server) watchMemory() (stop func()) {
	m := s.requestMemory
	m.pools = s.tensorPools
	if local, ok := s.cache.(*cache.Local); ok {
		m.cache = local.Counts().Size
	}
	m.look()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.watch(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}
