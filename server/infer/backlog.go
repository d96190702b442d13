package infer

import (
	"time"

	"triton/pkg/status"
	"triton/server/memory"
)

// DefaultResponseBacklog is the default limit of responses that one stream holds for its
// client, in bytes.
const DefaultResponseBacklog = 256 << 20

// responseOverhead approximates the memory of a response without its data, in bytes.
const responseOverhead = 512

// ResponseBacklog counts the responses that one stream holds because its client has not
// read them. A model never waits for a reader: a response over the limit is dropped, its
// request is cancelled, and the client's last response carries the error. A single
// response is always accepted, whatever its size. Limit may be set before the first
// response; the caller synchronizes access.
type ResponseBacklog struct {
	Limit int
	// Stream counts the responses of all streams; nil: nothing does.
	Stream *memory.Stream
	bytes  int
}

// TryAdd counts a response, or reports false when it exceeds the limit.
func (b *ResponseBacklog) TryAdd(r *Response) bool {
	if b.bytes > 0 && b.bytes+r.Size() > b.Limit {
		return false
	}
	b.Add(r)
	return true
}

// Add counts a response even over the limit: the error that reports the overflow, or the
// only response of a request.
func (b *ResponseBacklog) Add(r *Response) {
	b.bytes += r.Size()
	b.Stream.Grown(b.bytes)
}

// Remove counts a response of that size as read or dropped.
func (b *ResponseBacklog) Remove(size int) {
	b.bytes -= size
	b.Stream.Set(b.bytes)
}

// Clear counts all responses as read.
func (b *ResponseBacklog) Clear() { b.Remove(b.bytes) }

// Err returns the error for a client whose backlog is full.
func (b *ResponseBacklog) Err() error {
	return status.New(status.Unavailable,
		"the request was cancelled because the client reads the stream too slowly: more than %d bytes of responses wait for it", b.Limit)
}

// errShort ends a stream that was cancelled because it held most while the memory was short.
var errShort = &status.Error{
	Code: status.Unavailable, RetryAfter: time.Second, Cause: memory.ErrExhausted,
	Msg: "the stream was cancelled because its client reads too slowly and the memory for requests (--request-memory-budget) is short; try again later",
}

// ErrShort returns the error for a client whose stream was cancelled to free memory.
func (b *ResponseBacklog) ErrShort() error { return errShort }

// MaxTaken limits the bytes of responses that the writer of a stream takes off the backlog at a time.
// What it has taken is not freed when the stream is cancelled.
const MaxTaken = 1 << 20

// Size approximates the memory of the response in bytes.
func (r *Response) Size() int {
	n := responseOverhead
	for i := range r.Outputs {
		n += r.Outputs[i].Data.Len()
	}
	return n
}
