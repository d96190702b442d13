package tensor

import (
	"encoding/binary"
	"slices"
)

// HashOrder returns the order in which Triton iterates over named tensors in a hash table, such as the inputs of a request
// or of an ONNX model, as indices into names, which were inserted one after the other. Names must differ. For a few names
// it is usually the reverse of the insertion order. Clients see it: a completed configuration lists inputs and outputs in
// it, and the server reports the first of several wrong inputs in it.
func HashOrder(names []string) []int {
	t := hashTable{hashes: make([]uint64, 1, len(names)+1), next: make([]int32, 1, len(names)+1)}
	t.resize(bucketCounts[0])
	for _, name := range names {
		if len(t.hashes) > len(t.before) {
			t.grow()
		}
		t.hashes, t.next = append(t.hashes, hash(name)), append(t.next, 0)
		t.insert(int32(len(t.hashes) - 1))
	}
	order := make([]int, 0, len(names))
	for e := t.next[0]; e != 0; e = t.next[e] {
		order = append(order, int(e)-1)
	}
	return order
}

// hashTable models the C++ library's hash table: one list of all entries, with those of a
// bucket adjacent. Entries are numbered from 1; entry 0 is before the first.
type hashTable struct {
	hashes []uint64
	next   []int32 // the following entry; 0 at the end
	before []int32 // of each bucket: the entry before its first, noEntry when empty
}

const noEntry = -1

func (t *hashTable) bucket(entry int32) int { return int(t.hashes[entry] % uint64(len(t.before))) }

// insert puts an entry first in its bucket. A new bucket comes first in the list.
func (t *hashTable) insert(entry int32) {
	b := t.bucket(entry)
	if at := t.before[b]; at != noEntry {
		t.next[entry], t.next[at] = t.next[at], entry
		return
	}
	second := t.next[0]
	t.next[entry], t.next[0] = second, entry
	if second != 0 {
		t.before[t.bucket(second)] = entry
	}
	t.before[b] = 0
}

func (t *hashTable) resize(buckets int) {
	t.before = make([]int32, buckets)
	for b := range t.before {
		t.before[b] = noEntry
	}
}

// bucketCounts are the library's numbers of buckets, each the first prime of its table
// that is at least twice the one before.
var bucketCounts = [...]int{13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043}

func (t *hashTable) grow() {
	buckets := 2*len(t.before) + 1
	if i := slices.Index(bucketCounts[:], len(t.before)); i >= 0 && i+1 < len(bucketCounts) {
		buckets = bucketCounts[i+1]
	}
	t.resize(buckets)
	entry := t.next[0]
	t.next[0] = 0
	for entry != 0 {
		following := t.next[entry]
		t.insert(entry)
		entry = following
	}
}

// hash returns the C++ library's hash of a string, a MurmurHash64A.
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
