package infer

import "triton/pkg/status"

// DefaultBacklog is how many bytes of responses one stream holds for its client
// unless its server says otherwise.
const DefaultBacklog = 256 << 20

// responseBytes is about what a response takes beside its data, of which there may
// be next to none.
const responseBytes = 512

// Backlog counts the responses that one stream holds because its client has not
// taken them: a model never waits for a reader. It is the rule for streams of all
// front ends: a response that finds no room is dropped, its request is cancelled,
// and the client's last response says so. A response that is alone always has
// room. Limit may be set before the first response; the caller locks.
type Backlog struct {
	Limit int
	bytes int
}

// Hold counts a response, or reports that there is no room for it.
func (b *Backlog) Hold(r *Response) bool {
	if b.bytes > 0 && b.bytes+r.Size() > b.Limit {
		return false
	}
	b.Count(r)
	return true
}

// Count counts a response whether there is room or not: one that says that there
// was none, or the only one of a request.
func (b *Backlog) Count(r *Response) { b.bytes += r.Size() }

// Let counts a response of this size as taken, or dropped.
func (b *Backlog) Let(size int) { b.bytes -= size }

// Clear counts all responses as taken.
func (b *Backlog) Clear() { b.bytes = 0 }

// Full is what the client is told when there was no room.
func (b *Backlog) Full() error {
	return status.New(status.Unavailable,
		"the request was cancelled because the client reads the stream too slowly: more than %d bytes of responses wait for it", b.Limit)
}

// Size is about how much memory the response takes, in bytes.
func (r *Response) Size() int {
	n := responseBytes
	for i := range r.Outputs {
		n += r.Outputs[i].Data.Len()
	}
	return n
}
