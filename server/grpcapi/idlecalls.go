package grpcapi

import (
	"sync/atomic"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"triton/server/connlimit"
	"triton/server/memory"
)

const (
	// idleCall is the memory of a call without a message, in bytes: its stream, and the stacks of its goroutines.
	idleCall = 16 << 10
	// idleShare is the part of the memory for requests that idle calls may take, beside it.
	idleShare = 4
	// minIdleCalls may always be open.
	minIdleCalls = 256
	// shedForCall is how many connections are closed for a call when there are too many idle calls. Each may
	// have hundreds.
	shedForCall = 4
)

// idleCalls bounds the calls that have no message: streams, and calls of which only the headers have arrived.
// A client can open a thousand per connection with a few bytes each, and they may stay for ever. Above the
// limit the connections that were idle for the longest time are closed, and above twice the limit calls are
// refused. A nil idleCalls has no limit.
type idleCalls struct {
	memory *memory.Budget
	_      [56]byte // every call changes n
	n      atomic.Int64
}

// begin counts a call, or refuses it. use is its connection's.
func (c *idleCalls) begin(use *connlimit.Conn) error {
	if c == nil {
		return nil
	}
	n := c.n.Add(1)
	limit := max(c.memory.Limit()/idleShare/idleCall, minIdleCalls)
	if n <= limit || c.memory.Limit() == 0 {
		return nil
	}
	use.ShedOthers(shedForCall)
	if n <= 2*limit {
		return nil
	}
	c.end()
	return grpcstatus.Errorf(codes.ResourceExhausted,
		"no memory for this call: %d streams and calls without a message are open, the limit is %d (a part of --request-memory-budget); try again later", n-1, 2*limit)
}

func (c *idleCalls) end() {
	if c != nil {
		c.n.Add(-1)
	}
}
