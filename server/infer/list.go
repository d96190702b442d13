package infer

import "triton/pkg/invariant"

// List is a queue of requests, linked through the requests themselves, so that
// any of them leaves it in constant time and nothing is allocated. A request
// stands in one list at most. The zero value is empty; a List must not be
// copied while it is in use.
type List struct {
	front, back *Request
	n           int
}

// Len is the number of requests.
func (l *List) Len() int { return l.n }

// Front is the oldest request; nil when the list is empty.
func (l *List) Front() *Request { return l.front }

// Next is the request that follows r in its list; nil at the end.
func (r *Request) Next() *Request { return r.next }

// Push appends a request.
func (l *List) Push(r *Request) {
	invariant.Check(r.next == nil && r.prev == nil && l.front != r, "request pushed while it stands in a list")
	r.prev = l.back
	if l.back == nil {
		l.front = r
	} else {
		l.back.next = r
	}
	l.back = r
	l.n++
}

// Remove takes a request out that stands in this list.
func (l *List) Remove(r *Request) {
	if r.prev == nil {
		invariant.Check(l.front == r, "request removed from a list that it does not stand in")
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

// Pop takes the oldest request out; nil when the list is empty.
func (l *List) Pop() *Request {
	r := l.front
	if r != nil {
		l.Remove(r)
	}
	return r
}
