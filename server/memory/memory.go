// Package memory counts the memory that callers make the server hold: messages, bodies, tensors and
// replies, over all protocols, against one limit, with a share for each caller. What does not fit is
// refused before it is read. Nothing waits for memory.
package memory

import (
	"errors"
	"sync/atomic"
	"time"

	"triton/pkg/status"
	"triton/pkg/tensor"
)

// Kind is what memory is used for.
type Kind uint8

// The kinds.
const (
	// Tensors is memory of pools: bodies of HTTP requests, inputs and outputs.
	Tensors Kind = iota
	// Messages are messages of gRPC, and what is decoded from messages besides tensors.
	Messages
	// Replies are the texts of replies.
	Replies
	kinds
)

// Kinds are all kinds.
var Kinds = [kinds]Kind{Tensors, Messages, Replies}

// String returns the name in metrics.
func (k Kind) String() string { return [kinds]string{"tensors", "messages", "replies"}[k] }

const (
	// Small is the size in bytes up to which a request may use the part of the memory that is
	// kept for small ones, so that they are served while large ones are refused.
	Small = 256 << 10
	// smallShare is that part of the limit.
	smallShare = 8
	// retryAfter is when a refused client may try again.
	retryAfter = time.Second
)

// ErrExhausted is the cause of all refusals.
var ErrExhausted = errors.New("the memory for requests is used up")

// Budget is the memory for requests. It is safe for concurrent use. A nil Budget has no limit.
type Budget struct {
	limit    atomic.Int64 // 0: none
	refused  [kinds]atomic.Int64
	streams  streams
	arrivals arrivals
	callers  callers
	_        [64]byte
	used     counter // of all kinds
	// others are the parts of used that are not Tensors, which are what is left.
	others [kinds - 1]counter
}

// counter is alone in its cache line, because every request adds to it.
type counter struct {
	atomic.Int64
	_ [56]byte
}

// New returns a budget of that many bytes; 0 is no limit.
func New(limit int64) *Budget {
	b := &Budget{}
	b.limit.Store(limit)
	return b
}

// Limit returns the bytes that all requests may use; 0 is no limit.
func (b *Budget) Limit() int64 {
	if b == nil {
		return 0
	}
	return b.limit.Load()
}

// SetLimit changes the limit. What is in use stays so.
func (b *Budget) SetLimit(n int64) { b.limit.Store(n) }

// Used returns the bytes in use by kind.
func (b *Budget) Used(k Kind) int64 {
	if k != Tensors {
		return b.others[k-1].Load()
	}
	n := b.Total()
	for i := range b.others {
		n -= b.others[i].Load()
	}
	return max(n, 0) // the counters are not read at one time
}

// Total returns the bytes in use.
func (b *Budget) Total() int64 { return b.used.Load() }

// Refused returns how many times memory of a kind was refused.
func (b *Budget) Refused(k Kind) int64 { return b.refused[k].Load() }

// most returns how much may be in use after a request has got memory and holds that many bytes.
func most(limit int64, holds int) int64 {
	if holds > Small {
		limit -= limit / smallShare
	}
	return limit
}

// Take counts n bytes for a request that holds `holds` bytes already. The error, a *status.Error
// with the cause ErrExhausted, refuses them.
func (b *Budget) Take(k Kind, n, holds int) error {
	if b == nil {
		return nil
	}
	if limit := b.limit.Load(); limit == 0 {
		b.used.Add(int64(n))
	} else if top := most(limit, holds+n); !b.count(int64(n), top) && (holds+n > Small || !b.makeRoom(int64(n), limit)) {
		return b.refuse(k, n, holds, top)
	}
	b.addKind(k, n)
	return nil
}

// count adds n bytes to those in use unless that would be more than top. It compares and swaps, so
// that neither requests at one time overrun the limit together, nor those that are refused keep
// others out meanwhile.
func (b *Budget) count(n, top int64) bool {
	for {
		used := b.used.Load()
		if used+n > top {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

func (b *Budget) addKind(k Kind, n int) {
	if k != Tensors {
		b.others[k-1].Add(int64(n))
	}
}

// Add counts n bytes that are in use already, over the limit if need be.
func (b *Budget) Add(k Kind, n int) {
	if b != nil {
		b.used.Add(int64(n))
		b.addKind(k, n)
	}
}

// Return ends what Take or Add has counted.
func (b *Budget) Return(k Kind, n int) { b.Add(k, -n) }

func (b *Budget) refuse(k Kind, n, holds int, top int64) error {
	b.refused[k].Add(1)
	if int64(n+holds) > top {
		return tooLarge(n+holds, top)
	}
	b.streams.shed(b.Limit(), nil)
	return exhausted("no memory for %d bytes of the request: requests use %d of %d bytes of --request-memory-budget; try again later",
		n, b.Total(), b.Limit())
}

func exhausted(format string, args ...any) error {
	e := status.New(status.Unavailable, format, args...)
	e.Cause, e.RetryAfter = ErrExhausted, retryAfter
	return e
}

func tooLarge(n int, top int64) error {
	e := status.New(status.InvalidArg, "the request needs %d bytes of memory, more than the %d bytes of --request-memory-budget that one request may use", n, top)
	e.Cause = ErrExhausted
	return e
}

// Exhausted reports whether an error is a refusal of a Budget.
func Exhausted(err error) bool { return errors.Is(err, ErrExhausted) }

// Pools returns the budget as the account of pools.
func (b *Budget) Pools() tensor.Account { return pools{b} }

type pools struct{ *Budget }

// Take implements tensor.Account.
func (p pools) Take(n int) error { return p.Budget.Take(Tensors, n, 0) }

// Add implements tensor.Account.
func (p pools) Add(n int) { p.Budget.Add(Tensors, n) }

// Return implements tensor.Account.
func (p pools) Return(n int) { p.Budget.Return(Tensors, n) }
