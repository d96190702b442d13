// Which loaded models make room for others is decided by plain computations, which read no clock.
//
// The policy is GreedyDual-Size with Frequency (Cherkasova, "Improving WWW Proxies Performance with
// Greedy-Dual-Size-Frequency Caching Policy", HP Laboratories HPL-98-69, 1998): the rank of a
// model is
//
//	clock + frequency * cost / size
//
// and the model with the lowest rank is evicted first. The cost is the time of a load, the size
// the share of the memory budget. The clock rises to the rank of each evicted model, so a model
// that is no longer used falls behind the others, however often it was used before.

package ondemand

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// Bytes is an amount of memory by device.
type Bytes map[Device]int64

// Device is "cpu", or "gpu:" and the index of a GPU.
type Device string

// Host is the memory of the machine.
const Host Device = "cpu"

// halfLife is the number of uses of all models after which the frequency of an unused model is
// halved. It bounds how long a model that was evicted profits from its past.
const halfLife = 1000

// useBook has the ranks of the models. The zero value is not ready; use newUseBook.
type useBook struct {
	budget Bytes
	clock  float64
	uses   float64 // of all models
	models map[string]*useRecord
}

// useRecord is what the book knows of a model. It stays after the model was unloaded, so that the
// model's frequency counts when it is loaded again.
type useRecord struct {
	frequency float64
	at        float64 // useBook.uses when the frequency was computed
	rank      float64
	cost      float64 // seconds
	size      float64 // share of the budget
	priority  int
}

// newUseBook returns a book for a budget. Devices that are not in the budget have no limit.
func newUseBook(budget Bytes) *useBook {
	return &useBook{budget: budget, models: map[string]*useRecord{}}
}

// Loaded records that a model was loaded or that its size has changed. Models of a higher
// priority are evicted after all others.
func (b *useBook) Loaded(name string, size Bytes, cost time.Duration, priority int) {
	r := b.record(name)
	r.size, r.cost, r.priority = b.share(size), max(cost, time.Millisecond).Seconds(), priority
	b.setRank(r)
}

// Used records n uses of a model since the last call.
func (b *useBook) Used(name string, n uint64) {
	if n == 0 {
		return
	}
	r := b.record(name)
	b.uses += float64(n)
	r.decay(b.uses)
	r.frequency += float64(n)
	b.setRank(r)
}

// Evicted records that a model was evicted to make room. Of several models, the one that is
// evicted last has the highest rank.
func (b *useBook) Evicted(name string) { b.clock = max(b.clock, b.record(name).rank) }

// Forget removes a model that no longer exists.
func (b *useBook) Forget(name string) { delete(b.models, name) }

// Order sorts the names of loaded models: those that are evicted first come first.
func (b *useBook) Order(names []string) {
	slices.SortFunc(names, func(x, y string) int {
		p, q := b.record(x), b.record(y)
		return cmp.Or(cmp.Compare(p.priority, q.priority), cmp.Compare(p.rank, q.rank), cmp.Compare(x, y))
	})
}

func (b *useBook) record(name string) *useRecord {
	r := b.models[name]
	if r == nil {
		r = &useRecord{at: b.uses}
		b.models[name] = r
	}
	return r
}

func (b *useBook) setRank(r *useRecord) {
	r.decay(b.uses)
	r.rank = b.clock + max(r.frequency, 1)*r.cost/max(r.size, 1e-6)
}

// decay halves the frequency for each half-life since it was computed.
func (r *useRecord) decay(uses float64) {
	for ; uses-r.at >= halfLife; r.at += halfLife {
		if r.frequency /= 2; r.frequency < 1e-3 {
			r.frequency, r.at = 0, uses
			return
		}
	}
}

// share returns the largest share of a device's budget that a size takes.
func (b *useBook) share(size Bytes) (share float64) {
	for d, n := range size {
		if limit := b.budget[d]; limit > 0 {
			share = max(share, float64(n)/float64(limit))
		}
	}
	return share
}

// GPU returns the device of a GPU.
func GPU(index int) Device { return Device("gpu:" + strconv.Itoa(index)) }
