package analyzer

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"triton/pkg/gpu"
)

// Memory is the memory of a server. Values that could not be read are absent.
type Memory struct {
	Host gpu.Optional[HostMemory]
	// GPU is the memory of the server's processes on all devices. Devices is the
	// memory in use on all devices beyond that at the start.
	GPU     gpu.Optional[uint64]
	Devices gpu.Optional[uint64]
}

// from returns the reading of a source.
func (m Memory) from(s Source) (uint64, bool) {
	switch s {
	case GPUProcesses:
		return m.GPU.Value, m.GPU.Known
	case GPUDevices:
		return m.Devices.Value, m.Devices.Known
	case HostPSS:
		return m.Host.Value.PSS, m.Host.Known
	}
	return 0, false
}

// peak returns the larger value of two readings, for each source.
func (m Memory) peak(o Memory) Memory {
	m.GPU = larger(m.GPU, o.GPU, cmp.Compare)
	m.Devices = larger(m.Devices, o.Devices, cmp.Compare)
	m.Host = larger(m.Host, o.Host, func(a, b HostMemory) int { return cmp.Compare(a.PSS, b.PSS) })
	return m
}

func larger[T any](a, b gpu.Optional[T], compare func(a, b T) int) gpu.Optional[T] {
	if !a.Known || b.Known && compare(b.Value, a.Value) > 0 {
		return b
	}
	return a
}

// meter reads the memory of servers.
type meter struct {
	host        Host
	gpu         gpu.View
	usedAtStart map[string]uint64 // memory in use on each device before the first server started
}

func newMeter(host Host, view gpu.View) *meter {
	m := &meter{host: host, gpu: view, usedAtStart: make(map[string]uint64)}
	if view == nil {
		return m
	}
	for _, d := range view.Devices() {
		if used := view.Read(d).MemoryUsed; used.Known {
			m.usedAtStart[d.UUID] = used.Value
		}
	}
	return m
}

func (m *meter) read(pids []int) Memory {
	var out Memory
	for _, pid := range pids {
		if h, err := m.host.Process(pid); err == nil {
			out.Host = gpu.Some(HostMemory{out.Host.Value.PSS + h.PSS, out.Host.Value.RSS + h.RSS})
		}
	}
	if m.gpu == nil {
		return out
	}
	for _, d := range m.gpu.Devices() {
		if used := m.gpu.Read(d).MemoryUsed; used.Known {
			more := used.Value - min(used.Value, m.usedAtStart[d.UUID])
			out.Devices = gpu.Some(out.Devices.Value + more)
		}
		procs, err := m.gpu.Processes(d)
		if err != nil {
			continue
		}
		for _, p := range procs {
			if p.Memory.Known && slices.Contains(pids, p.PID) {
				out.GPU = gpu.Some(out.GPU.Value + p.Memory.Value)
			}
		}
	}
	return out
}

// watch reads a server's memory periodically and keeps the peak.
type watch struct {
	read func() Memory
	stop context.CancelFunc
	wg   sync.WaitGroup
	mu   struct {
		sync.Mutex
		peak Memory
	}
}

func newWatch(ctx context.Context, every time.Duration, read func() Memory) *watch {
	ctx, stop := context.WithCancel(ctx)
	w := &watch{read: read, stop: stop}
	w.wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				w.now()
			}
		}
	})
	return w
}

// now reads the memory and returns the peak so far.
func (w *watch) now() Memory {
	m := w.read()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.peak = w.mu.peak.peak(m)
	return w.mu.peak
}

func (w *watch) close() {
	w.stop()
	w.wg.Wait()
}
