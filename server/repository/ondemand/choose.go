package ondemand

import (
	"maps"
	"slices"
)

// candidate is a loaded model that may be evicted, and the memory that this frees.
type candidate struct {
	Name  string
	Frees Bytes
}

// choose returns the candidates to evict so that lack is free, in the order of the candidates,
// which is that of useBook.Order. It returns false if all of them together do not free enough.
// It evicts no candidate that the others make superfluous.
func choose(lack Bytes, ordered []candidate) ([]candidate, bool) {
	left := maps.Clone(lack)
	var chosen []candidate
	for _, c := range ordered {
		if left.None() {
			break
		}
		if left.overlaps(c.Frees) {
			chosen = append(chosen, c)
			left.Add(c.Frees, -1)
		}
	}
	if !left.None() {
		return nil, false
	}
	// A large model may have made the small ones before it superfluous. Keep the most valuable.
	for i := len(chosen) - 1; i >= 0; i-- {
		left.Add(chosen[i].Frees, 1)
		if left.None() {
			chosen = slices.Delete(chosen, i, i+1)
		} else {
			left.Add(chosen[i].Frees, -1)
		}
	}
	return chosen, true
}

// None reports whether no device has a positive amount.
func (b Bytes) None() bool {
	for _, n := range b {
		if n > 0 {
			return false
		}
	}
	return true
}

// Add adds other n times. Devices that b does not have are left out.
func (b Bytes) Add(other Bytes, n int64) {
	for d := range b {
		b[d] += n * other[d]
	}
}

// overlaps reports whether both have an amount of the same device.
func (b Bytes) overlaps(other Bytes) bool {
	for d, n := range b {
		if n > 0 && other[d] > 0 {
			return true
		}
	}
	return false
}

// lackOf returns what is missing on each device of a budget when used and need are taken.
func lackOf(budget, used, need Bytes) Bytes {
	lack := Bytes{}
	for d, limit := range budget {
		if n := used[d] + need[d] - limit; n > 0 && need[d] > 0 {
			lack[d] = n
		}
	}
	return lack
}
