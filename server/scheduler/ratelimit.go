package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"triton/pkg/status"
)

// AllDevices is the value of Resource.Device for a resource that each device has.
const AllDevices = -1

// Resource is the available amount of a resource.
type Resource struct {
	Name  string
	Count uint64
	// Device is an index, or AllDevices. Global resources ignore it.
	Device int
}

// ResourceNeed is how much of a resource an instance holds while it runs a batch.
type ResourceNeed struct {
	Name  string
	Count uint64
	// Global resources belong to the server; others to a device.
	Global bool
}

// LimitedInstance describes an instance to the rate limiter.
type LimitedInstance struct {
	Device int
	Needs  []ResourceNeed // the last of several with the same name and scope counts
	// Priority divides an instance's share: one of priority 2 runs half as often as one
	// of priority 1. 0 is 1.
	Priority uint32
}

// RateLimiter shares resources among the instances of all models of a server. A resource is a name
// with a count, without a meaning for the server. An instance that runs a batch holds as much of each
// resource as its configuration says.
//
// Waiting slots are in one queue for the whole server, ordered by the number of their runs times
// their priority. Only the first slot of the queue can get a grant: a slot with small needs never
// overtakes one with large needs.
type RateLimiter struct {
	configured []Resource // empty: see New

	mu       sync.Mutex
	gates    []*RateGate // in the order of their creation
	pools    map[poolKey]*resourcePool
	staged   IndexedHeap[*gateSlot, byWeight] // that wait for a grant
	arrivals uint64
}

// poolKey names a pool.
type poolKey struct {
	device int // global for a resource of the server; sorts first
	name   string
}

const globalPool = -1

func (k poolKey) compare(o poolKey) int {
	return cmp.Or(cmp.Compare(k.device, o.device), cmp.Compare(k.name, o.name))
}

// resourcePool is one resource of one device or of the server.
type resourcePool struct{ size, used uint64 }

// resourceDemand is what a slot takes from a pool.
type resourceDemand struct {
	poolKey
	pool  *resourcePool
	count uint64
}

// NewRateLimiter returns a limiter for the configured resources; no others exist. If none are
// configured, every resource exists, with the largest count that a loaded instance needs.
func NewRateLimiter(configured []Resource) *RateLimiter {
	return &RateLimiter{configured: configured, pools: map[poolKey]*resourcePool{}}
}

// initialRuns is the number of runs that a new instance starts with. Triton counts its
// creation and its warm-up as runs, even without samples. With 0 runs all weights would be
// 0, and priorities would have no effect on the first batches.
const initialRuns = 2

// Add returns the gate of a model version, with a slot for each instance. The texts of the
// errors are Triton's.
func (l *RateLimiter) Add(instances []LimitedInstance) (*RateGate, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := &RateGate{limiter: l, aborted: make(chan struct{})}
	g.slots.Store(&[]*gateSlot{})
	for i, in := range instances {
		if err := g.put(i, in); err != nil {
			return nil, err
		}
	}
	l.gates = append(l.gates, g)
	l.changed()
	return g, nil
}

// resourceDemands returns the demands in the order in which they are checked.
func resourceDemands(in LimitedInstance) []resourceDemand {
	var all []resourceDemand
	for _, n := range in.Needs {
		k := poolKey{in.Device, n.Name}
		if n.Global {
			k.device = globalPool
		}
		if i := slices.IndexFunc(all, func(d resourceDemand) bool { return d.poolKey == k }); i >= 0 {
			all[i].count = n.Count
			continue
		}
		all = append(all, resourceDemand{poolKey: k, count: n.Count})
	}
	slices.SortFunc(all, func(a, b resourceDemand) int { return a.compare(b.poolKey) })
	return all
}

// check returns an error if slot s of g needs more than is configured, or needs a resource
// as global that g or a loaded version needs on a device, or the other way round.
func (l *RateLimiter) check(g *RateGate, s *gateSlot) error {
	for _, d := range s.demands {
		if size := l.configuredCount(d.poolKey); len(l.configured) > 0 && size < d.count {
			return status.New(status.InvalidArg,
				"Resource count for \"%s\" is limited to %d which will prevent scheduling of one or more model instances, the minimum required count is %d",
				d.name, size, d.count)
		}
	}
	for _, d := range s.demands {
		if l.conflicts(d.poolKey, s) || g.conflicts(d.poolKey) {
			return status.New(status.InvalidArg,
				"Resource \"%s\" is present as both global and device-specific resource in the model configuration.", d.name)
		}
	}
	return nil
}

// conflicts reports whether a loaded instance, or slot s itself, needs the resource of k in
// the other scope.
func (l *RateLimiter) conflicts(k poolKey, s *gateSlot) bool {
	for other := range l.pools {
		if other.name == k.name && (other.device == globalPool) != (k.device == globalPool) {
			return true
		}
	}
	return s.conflicts(k)
}

// configuredCount returns how much of a resource is configured.
func (l *RateLimiter) configuredCount(k poolKey) uint64 {
	n := uint64(0)
	for _, r := range l.configured {
		if r.Name == k.name && (k.device == globalPool || r.Device == AllDevices || r.Device == k.device) {
			n = max(n, r.Count)
		}
	}
	return n
}

// changed adapts the pools to the loaded instances, and grants what they allow.
func (l *RateLimiter) changed() {
	l.resizePools()
	for _, g := range l.gates {
		for s := range g.all() {
			for i := range s.demands {
				s.demands[i].pool = l.pools[s.demands[i].poolKey]
			}
		}
	}
	l.grantNext() // pools may have grown
}

// resizePools sets the size of every pool from the loaded instances, and removes unused
// pools.
func (l *RateLimiter) resizePools() {
	sizes := map[poolKey]uint64{}
	for _, g := range l.gates {
		for s := range g.all() {
			for _, d := range s.demands {
				sizes[d.poolKey] = max(sizes[d.poolKey], d.count)
			}
		}
	}
	for k, n := range sizes {
		if len(l.configured) > 0 {
			n = l.configuredCount(k)
		}
		if l.pools[k] == nil {
			l.pools[k] = &resourcePool{}
		}
		l.pools[k].size = n
	}
	for k := range l.pools {
		if _, ok := sizes[k]; !ok {
			delete(l.pools, k)
		}
	}
}

// String lists the resources of the loaded instances in Triton's format, for a log.
func (l *RateLimiter) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	b.WriteString("\nMax Resource Map===>\n")
	device := globalPool - 1 // none yet
	for _, k := range slices.SortedFunc(maps.Keys(l.pools), poolKey.compare) {
		if k.device != device {
			device = k.device
			name := "GLOBAL"
			if device != globalPool {
				name = strconv.Itoa(device)
			}
			fmt.Fprintf(&b, "\tDevice: %s\n", name)
		}
		fmt.Fprintf(&b, "\t\tResource: %s\t Count: %d\n", k.name, l.pools[k].size)
	}
	return b.String()
}
