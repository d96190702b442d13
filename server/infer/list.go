package infer

import "triton/pkg/invariant"

// List is a queue of requests, linked through the requests themselves: removal takes
// constant time and nothing allocates. A request is in at most one list. The zero value
// is empty; a List must not be copied while in use.
type List struct {
	front, back *Request
	n           int
}

// Len returns the number of requests.
func (l *List) Len() int { return l.n }

// Front returns the oldest request; nil when the list is empty.
func (l *List) Front() *Request { return l.front }

// Back returns the newest request; nil when the list is empty.
func (l *List) Back() *Request { return l.back }

// Next returns the request that follows r in its list; nil at the end.
func (r *Request) Next() *Request { return r.next }

// Push appends a request.
func (l *List) Push(r *Request) {
	invariant.Check(r.next == nil && r.prev == nil && l.front != r, "request pushed while it is in a list")
	r.prev = l.back
	if l.back == nil {
		l.front = r
	} else {
		l.back.next = r
	}
	l.back = r
	l.n++
}

// Remove removes a request that is in this list.
func (l *List) Remove(r *Request) {
	if r.prev == nil {
		invariant.Check(l.front == r, "request removed from a list that it is not in")
		l.front = r.next
	} else {
		r.prev.next = r.next
	}
	if r.next == nil {
		l.back = r.prev
	} else {
		r.next.prev = r.prev
	}
	r.next, r.prev = nil, nil
	l.n--
}

// Pop removes and returns the oldest request; nil when the list is empty.
func (l *List) Pop() *Request {
	r := l.front
	if r != nil {
		l.Remove(r)
	}
	return r
}
