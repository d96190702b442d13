package ratelimit

// staged is the seats that wait for their turn, as a heap: the lowest weight
// first, of one weight the one that has waited longest.
type staged []*seat

func (q staged) Len() int { return len(q) }

func (q staged) Less(i, j int) bool {
	a, b := q[i], q[j]
	if a.weight != b.weight {
		return a.weight < b.weight
	}
	return a.order < b.order
}

func (q staged) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push is for container/heap.
func (q *staged) Push(s any) {
	s.(*seat).place = len(*q)
	*q = append(*q, s.(*seat))
}

// Pop is for container/heap.
func (q *staged) Pop() any {
	last := len(*q) - 1
	s := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	s.place = -1
	return s
}
