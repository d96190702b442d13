// Package ratelimit lets the instances of all models of a server take turns, by
// resources that they share. A resource is a name with a count and stands for
// nothing the server knows; an instance that runs a batch holds as much of each
// as its configuration says. Who waits stands in one queue for the whole
// server, the instance that has run least by its priority first, and only the
// first of the queue is looked at: what needs little never overtakes what needs
// much.
package ratelimit

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

// AllDevices is the device of a Resource that each device has.
const AllDevices = -1

// Resource is how much of a resource there is.
type Resource struct {
	Name  string
	Count uint64
	// Device is an index, or AllDevices. It does not matter to global resources.
	Device int
}

// Need is how much of a resource an instance holds while it runs a batch.
type Need struct {
	Name  string
	Count uint64
	// Global resources are the server's; others are those of a device.
	Global bool
}

// Instance is one that takes turns.
type Instance struct {
	Device int
	Needs  []Need // the last of a name and a scope counts
	// Priority divides an instance's share: one of priority 2 runs half as often
	// as one of priority 1. 0 is 1.
	Priority uint32
}

// Limiter is the resources of one server and who waits for them.
type Limiter struct {
	given []Resource // none: as much as the instance that needs most

	mu     sync.Mutex
	gates  []*Gate // in the order in which they came
	pools  map[key]*pool
	staged staged
	orders uint64
}

// key names a pool. Global ones come first in order and have device -1.
type key struct {
	device int
	name   string
}

const global = -1

func (k key) compare(o key) int {
	return cmp.Or(cmp.Compare(k.device, o.device), cmp.Compare(k.name, o.name))
}

// pool is one resource in one place.
type pool struct{ size, used uint64 }

// demand is what a seat takes out of a pool.
type demand struct {
	key
	pool  *pool
	count uint64
}

// New makes a limiter. Given resources are all there are; a name that is not
// among them has none. When none are given there is as much of each as the
// loaded instance needs that needs most.
func New(given []Resource) *Limiter {
	return &Limiter{given: given, pools: map[key]*pool{}}
}

// prior is what an instance is taken to have run when it begins to serve: in
// Triton to be made and to be warmed up, with or without samples, are turns too.
// So priorities count from the first batch on.
const prior = 2

// Add makes the gate of a model version, with a seat for each instance. The
// errors are Triton's and fail the load.
func (l *Limiter) Add(instances []Instance) (*Gate, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := &Gate{limiter: l, aborted: make(chan struct{})}
	for _, in := range instances {
		s := &seat{demands: demands(in), priority: uint64(max(in.Priority, 1)), turn: make(chan struct{}, 1), place: -1}
		if err := l.check(g, s); err != nil {
			return nil, err
		}
		s.runs.Store(prior)
		g.seats = append(g.seats, s)
	}
	l.gates = append(l.gates, g)
	l.measure()
	for _, s := range g.seats {
		for i := range s.demands {
			s.demands[i].pool = l.pools[s.demands[i].key]
		}
	}
	l.allot() // pools may have grown
	return g, nil
}

// demands are in the order in which they are checked.
func demands(in Instance) []demand {
	var all []demand
	for _, n := range in.Needs {
		k := key{in.Device, n.Name}
		if n.Global {
			k.device = global
		}
		if i := slices.IndexFunc(all, func(d demand) bool { return d.key == k }); i >= 0 {
			all[i].count = n.Count
			continue
		}
		all = append(all, demand{key: k, count: n.Count})
	}
	slices.SortFunc(all, func(a, b demand) int { return a.compare(b.key) })
	return all
}

// check says why a seat beside those of g could never have its turn.
func (l *Limiter) check(g *Gate, s *seat) error {
	for _, d := range s.demands {
		if size := l.limit(d.key); len(l.given) > 0 && size < d.count {
			return status.New(status.InvalidArg,
				"Resource count for \"%s\" is limited to %d which will prevent scheduling of one or more model instances, the minimum required count is %d",
				d.name, size, d.count)
		}
	}
	for _, d := range s.demands {
		if l.clashes(d.key, s) || slices.ContainsFunc(g.seats, func(o *seat) bool { return o.clashes(d.key) }) {
			return status.New(status.InvalidArg,
				"Resource \"%s\" is present as both global and device-specific resource in the model configuration.", d.name)
		}
	}
	return nil
}

// clashes says whether a loaded instance, or the seat itself, has the resource
// in the other scope.
func (l *Limiter) clashes(k key, s *seat) bool {
	for other := range l.pools {
		if other.name == k.name && (other.device == global) != (k.device == global) {
			return true
		}
	}
	return s.clashes(k)
}

// limit is how much of a resource was given.
func (l *Limiter) limit(k key) uint64 {
	n := uint64(0)
	for _, r := range l.given {
		if r.Name == k.name && (k.device == global || r.Device == AllDevices || r.Device == k.device) {
			n = max(n, r.Count)
		}
	}
	return n
}

// measure sets the size of every pool from the loaded instances, and forgets
// pools that none of them has.
func (l *Limiter) measure() {
	sizes := map[key]uint64{}
	for _, g := range l.gates {
		for _, s := range g.seats {
			for _, d := range s.demands {
				sizes[d.key] = max(sizes[d.key], d.count)
			}
		}
	}
	for k, n := range sizes {
		if len(l.given) > 0 {
			n = l.limit(k)
		}
		if l.pools[k] == nil {
			l.pools[k] = &pool{}
		}
		l.pools[k].size = n
	}
	for k := range l.pools {
		if _, ok := sizes[k]; !ok {
			delete(l.pools, k)
		}
	}
}

// String is the resources of the loaded instances in Triton's words, for a log.
func (l *Limiter) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	b.WriteString("\nMax Resource Map===>\n")
	device := global - 1
	for _, k := range slices.SortedFunc(maps.Keys(l.pools), key.compare) {
		if k.device != device {
			device = k.device
			name := "GLOBAL"
			if device != global {
				name = strconv.Itoa(device)
			}
			fmt.Fprintf(&b, "\tDevice: %s\n", name)
		}
		fmt.Fprintf(&b, "\t\tResource: %s\t Count: %d\n", k.name, l.pools[k].size)
	}
	return b.String()
}
