// Package remotetest has a store in memory for tests: a Source, and the protocols of S3, Google
// Cloud Storage and Azure over HTTP, with faults.
package remotetest

import (
	"crypto/md5" //nolint:gosec // the stores' checksum
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Bucket is the content of a store. The zero value is empty. Its methods may be called at the same
// time.
type Bucket struct {
	mu      sync.Mutex
	objects map[string]entry
	writes  int
	reads   int   // requests for content
	sent    int64 // bytes of content
	lists   int
	fault   func(f *Fetch)
}

type entry struct {
	text       []byte
	generation int
}

// Fetch is a request for content, which a fault may change.
type Fetch struct {
	Name           string
	Offset, Length int64
	Attempt        int // of all requests for content, from 1

	// Status is answered instead of content, unless it is 0.
	Status int
	// Cut ends the connection after so many bytes; negative: it does not.
	Cut int64
	// Hang sends nothing until the client gives up.
	Hang bool
	// Extra are bytes that are sent too much.
	Extra int
	// Flip changes a byte.
	Flip bool
}

// Put writes an object.
func (b *Bucket) Put(name, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.objects == nil {
		b.objects = map[string]entry{}
	}
	b.writes++
	b.objects[name] = entry{[]byte(text), b.writes}
}

// Remove removes the objects that begin with a prefix.
func (b *Bucket) Remove(prefix string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.objects, func(name string, _ entry) bool { return strings.HasPrefix(name, prefix) })
}

// Fault sets what happens to requests for content; nil: nothing.
func (b *Bucket) Fault(f func(*Fetch)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault = f
}

// Counts returns the numbers of requests for content, of listings, and of bytes of content.
func (b *Bucket) Counts() (reads, lists int, sent int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reads, b.lists, b.sent
}

func (b *Bucket) get(name string) (entry, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, found := b.objects[name]
	return e, found
}

// listed is an object of a listing.
type listed struct {
	name string
	entry
}

// list returns at most limit objects with a prefix after a name.
func (b *Bucket) list(prefix, after string, limit int) (all []listed, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lists++
	for _, name := range slices.Sorted(maps.Keys(b.objects)) {
		if !strings.HasPrefix(name, prefix) || name <= after {
			continue
		}
		if len(all) == limit {
			return all, true
		}
		all = append(all, listed{name, b.objects[name]})
	}
	return all, false
}

// begin counts a request for content and asks for its fault.
func (b *Bucket) begin(name string, offset, length int64) Fetch {
	b.mu.Lock()
	b.reads++
	f, fault := Fetch{Name: name, Offset: offset, Length: length, Attempt: b.reads, Cut: -1}, b.fault
	b.mu.Unlock()
	if fault != nil {
		fault(&f)
	}
	return f
}

func (b *Bucket) count(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent += int64(n)
}

func (e entry) md5() []byte {
	sum := md5.Sum(e.text) //nolint:gosec // as above
	return sum[:]
}

// etag is the MD5, as S3 has it.
func (e entry) etag() string { return hex.EncodeToString(e.md5()) }

// tag differs after each write.
func (e entry) tag() string { return strconv.Itoa(e.generation) }
