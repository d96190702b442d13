// How many instances of measured models other devices hold is predicted here: of one model on devices of other sizes
// and on MIG instances, and of several models together. Nothing is run.

package memory

import (
	"cmp"
	"math"
	"slices"
)

// PackedModel is a measured model, with the bounds that are safe to extrapolate.
type PackedModel struct {
	Name string
	// Base is a server with the model at no instance, PerInstance each instance, Server a
	// server without models. The base has the server in it.
	Base, PerInstance, Server float64
	// Useful is the largest instance count of use; 0 means that it is not known.
	Useful int
	// Throughput is what was measured, by instance count.
	Throughput map[int]float64
}

// otherDevice is the factor for another kind of GPU, which has another context and other code: an instance
// is taken to cost 5 % more.
const otherDevice = 1.05

// mostPacked bounds the counts.
const mostPacked = 1 << 20

// InstancesThatFit returns how many instances of a model fit into bytes. other is set for a device of another
// kind than the model was measured on. limited is false if an instance costs nothing.
func InstancesThatFit(m PackedModel, bytes float64, other bool) (count int, limited bool) {
	each := m.PerInstance
	if other {
		each *= otherDevice
	}
	if each <= 0 {
		return 0, false
	}
	return int(min(max(0, math.Floor((bytes-m.Base)/each)), mostPacked)), true
}

// Placement is how many instances of each model a device holds.
type Placement struct {
	Device string
	Counts []int // in the order of the models
	Bytes  float64
}

// packingBucket is the unit of memory of the exact search; sizes are rounded up to it, so that what is
// found fits.
const packingBucket = 64 << 20

// PackOne returns how many instances of each model to serve with one server on one device, so that as
// many models as possible have an instance, and then the sum of their throughputs, each relative to
// its own best, is largest. Counts beyond a model's useful one are never chosen.
func PackOne(models []PackedModel, bytes float64) Placement {
	place := Placement{Counts: make([]int, len(models))}
	if len(models) == 0 {
		return place
	}
	server := 0.0
	for _, m := range models {
		server = max(server, m.Server)
	}
	size := int((bytes - server) / packingBucket)
	if size < 0 {
		return place
	}
	size = min(size, 1<<16)
	// best[b] is the largest value with b buckets and the models so far; chosen[i][b] the
	// count of model i in it.
	best := make([]float64, size+1)
	chosen := make([][]int, len(models))
	for i, m := range models {
		next := slices.Clone(best)
		chosen[i] = make([]int, size+1)
		for k := 1; k <= m.largest(); k++ {
			need := m.buckets(k)
			if need > size {
				break
			}
			for b := need; b <= size; b++ {
				if v := best[b-need] + m.value(k); v > next[b] {
					next[b], chosen[i][b] = v, k
				}
			}
		}
		best = next
	}
	for i, b := len(models)-1, size; i >= 0; i-- {
		k := chosen[i][b]
		place.Counts[i] = k
		if k > 0 {
			b -= models[i].buckets(k)
			place.Bytes += models[i].Base - models[i].Server + float64(k)*models[i].PerInstance
		}
	}
	place.Bytes += server
	return place
}

// largest is the largest count to consider.
func (m PackedModel) largest() int {
	if m.Useful > 0 {
		return m.Useful
	}
	return 32
}

// buckets returns the memory of instances without that of the server, rounded up.
func (m PackedModel) buckets(k int) int {
	return max(1, int(math.Ceil((m.Base-m.Server+float64(k)*max(0, m.PerInstance))/packingBucket)))
}

// value of k instances: a model that is served at all counts more than any throughput.
func (m PackedModel) value(k int) float64 {
	const served = 1e6
	return served + m.relative(k)
}

// relative returns the throughput of k instances relative to the best: measured, or between the
// measured counts; without any, each instance adds less than the one before.
func (m PackedModel) relative(k int) float64 {
	if len(m.Throughput) == 0 {
		return 1 - 1/float64(k+1)
	}
	counts := make([]int, 0, len(m.Throughput))
	best := 0.0
	for n, t := range m.Throughput {
		counts = append(counts, n)
		best = max(best, t)
	}
	slices.Sort(counts)
	if best <= 0 {
		return 0
	}
	below, above := 0, 0
	for _, n := range counts {
		if n <= k {
			below = n
		}
		if n >= k && above == 0 {
			above = n
		}
	}
	switch above {
	case 0:
		return m.Throughput[below] / best
	case below:
		return m.Throughput[k] / best
	}
	low := 0.0
	if below > 0 {
		low = m.Throughput[below]
	}
	share := float64(k-below) / float64(above-below)
	return (low + share*(m.Throughput[above]-low)) / best
}

// PackedDevice is memory that a server may use.
type PackedDevice struct {
	Name  string
	Bytes float64
}

// PackSeveral places models on several devices: each model goes to the device with the most room left,
// the largest first; then each device chooses the counts of its models. left lists the models that
// fit nowhere.
func PackSeveral(models []PackedModel, devices []PackedDevice) (all []Placement, left []string) {
	order := make([]int, len(models))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(models[b].one(), models[a].one()) })
	room := make([]float64, len(devices))
	for i, d := range devices {
		room[i] = d.Bytes
	}
	on := make([]int, len(models))
	used := make([]bool, len(devices))
	for _, i := range order {
		m := models[i]
		on[i] = -1
		for d := range devices {
			need := m.one() - m.Server
			if !used[d] {
				need = m.one()
			}
			if need <= room[d] && (on[i] < 0 || room[d] > room[on[i]]) {
				on[i] = d
			}
		}
		if on[i] < 0 {
			left = append(left, m.Name)
			continue
		}
		if !used[on[i]] {
			room[on[i]] -= m.Server
		}
		used[on[i]] = true
		room[on[i]] -= m.one() - m.Server
	}
	for d, device := range devices {
		place := Placement{Device: device.Name, Counts: make([]int, len(models))}
		var here []PackedModel
		var which []int
		for i, at := range on {
			if at == d {
				here, which = append(here, models[i]), append(which, i)
			}
		}
		if len(here) > 0 {
			best := PackOne(here, device.Bytes)
			place.Bytes = best.Bytes
			for j, i := range which {
				place.Counts[i] = best.Counts[j]
			}
		}
		all = append(all, place)
	}
	return all, left
}

// one is the memory of a server with one instance.
func (m PackedModel) one() float64 { return m.Base + m.PerInstance }
