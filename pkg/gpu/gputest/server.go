package gputest

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"triton/pkg/gpu/nvml"
)

// Law is how a server of one model uses a device's memory. All sizes are bytes; the zero
// value of a field is nothing.
type Law struct {
	Base        uint64 // the server without a model: CUDA context, libraries
	BackendOnce uint64 // the first use of the backend
	Shared      uint64 // parts of the model that its instances share
	PerInstance uint64 // parts that each instance has
	// Activation is the memory of an instance that runs a batch of that many rows.
	Activation func(batch int) uint64
	// Queued is the memory of each row that waits beyond what runs.
	Queued uint64
	// Arena rounds the activation of an instance up to a power of two, and an instance
	// keeps its largest.
	Arena bool
	// PeakFor makes the activation of a run visible only for so long after the run's start;
	// 0: during all of it. Accounting sees it in any case.
	PeakFor time.Duration
	// Growth is what every run adds for as long as the server lives.
	Growth uint64
	// Leak is what stays allocated when the server has ended.
	Leak uint64
	// OOM decides what happens when the memory does not suffice.
	OOM Policy
}

// Policy is what happens when memory does not suffice.
type Policy int

// The policies.
const (
	// Fail fails the load or the run that needs the memory.
	Fail Policy = iota
	// NearMiss never fails: what does not fit is kept elsewhere, and the device is full.
	NearMiss
)

// ErrOutOfMemory is the error of loads and runs that do not fit.
var ErrOutOfMemory = errors.New("CUDA_ERROR_OUT_OF_MEMORY: out of memory")

// Server is a simulated server process with one model.
type Server struct {
	s   *Simulator
	law Law
	a   *allocation

	used      bool     // the backend
	instances []uint64 // what the arena of each keeps
}

// allocation is the memory of one process on a device.
type allocation struct {
	pid     int
	kinds   []nvml.ProcessKind
	on      *device
	foreign bool
	unknown bool
	ended   bool

	steady  uint64
	runs    []*run
	peak    uint64
	changes []change // of steady, that are not all visible yet
}

// run is memory of an execution in progress.
type run struct {
	bytes uint64
	until time.Time // zero: until it ends
}

// change is memory that becomes visible in steps.
type change struct {
	at    time.Time
	bytes uint64
}

// listed reports whether the process is in a list of the driver.
func (a *allocation) listed(kind nvml.ProcessKind) bool {
	return !a.ended && (slices.Contains(a.kinds, kind) || len(a.kinds) == 0 && kind == nvml.Compute)
}

// accounted reports whether the driver records the process.
func (a *allocation) accounted() bool { return !a.foreign && a.on.spec.Accounting }

// exact returns the memory of the process now, and with the activations that are too short
// to be seen.
func (a *allocation) exact(now time.Time) (seen, all uint64) {
	seen, all = a.steady, a.steady
	for _, r := range a.runs {
		all += r.bytes
		if r.until.IsZero() || now.Before(r.until) {
			seen += r.bytes
		}
	}
	return seen, all
}

// visible returns the memory as readings see it now.
func (a *allocation) visible(now time.Time) uint64 {
	seen, _ := a.exact(now)
	const steps = 4
	for _, c := range a.changes {
		delay := a.on.spec.View.Delay
		if passed := now.Sub(c.at); delay > 0 && passed < delay {
			seen -= min(seen, c.bytes/steps*uint64(steps-int(passed*steps/delay)))
		}
	}
	return seen
}

func (p *pool) visible(now time.Time) uint64 {
	sum := p.lost
	for _, a := range p.allocations {
		sum += a.visible(now)
	}
	return sum
}

// exact returns the memory that is allocated, seen or not.
func (p *pool) exact(now time.Time) uint64 {
	sum := p.lost
	for _, a := range p.allocations {
		_, all := a.exact(now)
		sum += all
	}
	return sum
}

// free returns the memory that can be allocated.
func (p *pool) free(now time.Time) uint64 {
	used := p.reserved + p.exact(now)
	return p.total - min(used, p.total)
}

// Start starts a server on the GPU or MIG instance with a UUID.
func (s *Simulator) Start(uuid string, pid int, law Law) (*Server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.gpus {
		d := g.on(uuid)
		if d.uuid != uuid {
			continue
		}
		v := &Server{s: s, law: law, a: &allocation{pid: pid, on: d}}
		if err := v.grow(law.Base); err != nil {
			return nil, err
		}
		d.pool.allocations = append(d.pool.allocations, v.a)
		s.names[pid+d.spec.View.PIDOffset] = "tritonserver"
		return v, nil
	}
	return nil, fmt.Errorf("gputest: no device has UUID %q", uuid)
}

// fit returns how much of an allocation the device can hold.
func (v *Server) fit(bytes uint64) (uint64, error) {
	free := v.a.on.pool.free(v.s.now())
	switch {
	case bytes <= free:
		return bytes, nil
	case v.law.OOM == NearMiss:
		return free, nil
	}
	return 0, fmt.Errorf("allocate %d bytes with %d free: %w", bytes, free, ErrOutOfMemory)
}

// grow allocates memory that the server keeps.
func (v *Server) grow(bytes uint64) error {
	bytes, err := v.fit(bytes)
	if err != nil || bytes == 0 {
		return err
	}
	v.a.steady += bytes
	now := v.s.now()
	v.a.changes = slices.DeleteFunc(v.a.changes, func(c change) bool { return now.Sub(c.at) >= v.a.on.spec.View.Delay })
	if v.a.on.spec.View.Delay > 0 {
		v.a.changes = append(v.a.changes, change{now, bytes})
	}
	v.record()
	return nil
}

// record keeps the peak.
func (v *Server) record() {
	_, all := v.a.exact(v.s.now())
	v.a.peak = max(v.a.peak, all)
}

// Load raises the number of instances to k. What was allocated before a failure is kept, as
// a server keeps it until the model is unloaded.
func (v *Server) Load(k int) error {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if len(v.instances) == 0 && k > 0 {
		if err := v.grow(v.law.Shared); err != nil {
			return err
		}
	}
	for len(v.instances) < k {
		if err := v.grow(v.law.PerInstance); err != nil {
			return err
		}
		v.instances = append(v.instances, 0)
	}
	return nil
}

// Run makes all instances run batches of that many rows, while so many rows are outstanding
// in all. The memory is in use until done is called. The rows that do not run wait.
func (v *Server) Run(batch, outstanding int) (done func(), err error) {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if !v.used {
		if err := v.grow(v.law.BackendOnce); err != nil {
			return nil, err
		}
		v.used = true
	}
	if err := v.grow(v.law.Growth); err != nil {
		return nil, err
	}
	each := uint64(0)
	if v.law.Activation != nil {
		each = v.law.Activation(batch)
	}
	if v.law.Arena {
		if err := v.growArenas(roundUp(each)); err != nil {
			return nil, err
		}
		each = 0
	}
	k := len(v.instances)
	waiting := uint64(max(0, outstanding-k*batch))
	bytes, err := v.fit(uint64(k)*each + waiting*v.law.Queued)
	if err != nil {
		return nil, err
	}
	r := &run{bytes: bytes}
	if v.law.PeakFor > 0 {
		r.until = v.s.now().Add(v.law.PeakFor)
	}
	v.a.runs = append(v.a.runs, r)
	v.record()
	return func() { v.end(r) }, nil
}

// growArenas makes the arena of each instance at least that large.
func (v *Server) growArenas(to uint64) error {
	for i, kept := range v.instances {
		if kept >= to {
			continue
		}
		if err := v.grow(to - kept); err != nil {
			return err
		}
		v.instances[i] = to
	}
	return nil
}

func (v *Server) end(r *run) {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	v.a.runs = slices.DeleteFunc(v.a.runs, func(o *run) bool { return o == r })
}

// roundUp returns the power of two that is not below n.
func roundUp(n uint64) uint64 {
	if n <= 1 {
		return n
	}
	return 1 << bits.Len64(n-1)
}

// Peak returns the most memory that the process has had, however short.
func (v *Server) Peak() uint64 {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	return v.a.peak
}

// Allocated returns the memory of the process now.
func (v *Server) Allocated() uint64 {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	_, all := v.a.exact(v.s.now())
	return all
}

// Stop ends the process. The driver gives its memory back but for the leak.
func (v *Server) Stop() {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if v.a.ended {
		return
	}
	v.a.ended, v.a.steady, v.a.runs, v.a.changes = true, 0, nil, nil
	v.a.on.pool.lost += min(v.law.Leak, v.a.on.pool.free(v.s.now()))
}
