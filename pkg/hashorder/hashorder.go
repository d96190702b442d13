// Package hashorder tells in which order Triton goes over named things that it
// keeps in a hash table, such as the inputs of a request or of an ONNX model.
// Clients see that order: inputs and outputs of a completed configuration are
// listed in it, and of several wrong inputs the first in it is reported. It is
// no hash table.
package hashorder

import (
	"encoding/binary"
	"slices"
)

// Of is the order in which the table goes over names that were put in one after
// the other, as indices into names. Names must differ. For few names it is
// mostly the reverse.
func Of(names []string) []int {
	t := table{buckets: 13}
	for i, name := range names {
		if i+1 > t.buckets {
			t.grow()
		}
		t.insert(entry{i, hash(name)})
	}
	order := make([]int, len(names))
	for i, e := range t.list {
		order[i] = e.index
	}
	return order
}

// table is the C++ library's: one list of all entries, those of a bucket
// together.
type table struct {
	buckets int
	list    []entry
}

type entry struct {
	index int
	hash  uint64
}

// insert puts an entry first in its bucket; a bucket with its first entry comes
// first in the list.
func (t *table) insert(e entry) {
	n := uint64(t.buckets)
	at := slices.IndexFunc(t.list, func(o entry) bool { return o.hash%n == e.hash%n })
	t.list = slices.Insert(t.list, max(at, 0), e)
}

// sizes are the library's numbers of buckets, each the first prime of its table
// that is at least twice the one before.
var sizes = [...]int{13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043}

func (t *table) grow() {
	next := slices.Index(sizes[:], t.buckets) + 1
	if next >= len(sizes) {
		t.buckets = 2*t.buckets + 1
	} else {
		t.buckets = sizes[next]
	}
	old := t.list
	t.list = make([]entry, 0, 2*len(old))
	for _, e := range old {
		t.insert(e)
	}
}

// hash is the C++ library's hash of a string, a MurmurHash64A.
func hash(s string) uint64 {
	const mul, seed = 0xc6a4a7935bd1e995, 0xc70f6907
	mix := func(v uint64) uint64 { return v ^ v>>47 }
	h := seed ^ uint64(len(s))*mul
	b := []byte(s)
	for ; len(b) >= 8; b = b[8:] {
		h = (h ^ mix(binary.LittleEndian.Uint64(b)*mul)*mul) * mul
	}
	if len(b) > 0 {
		var tail [8]byte
		copy(tail[:], b)
		h = (h ^ binary.LittleEndian.Uint64(tail[:])) * mul
	}
	return mix(mix(h) * mul)
}
