package ratelimit

// staged is a heap of the slots that wait for a grant: the lowest weight first, with the
// same weight the one that has waited longest.
type staged []*slot

func (q staged) Len() int { return len(q) }

func (q staged) Less(i, j int) bool {
	a, b := q[i], q[j]
	if a.weight != b.weight {
		return a.weight < b.weight
	}
	return a.arrival < b.arrival
}

func (q staged) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push implements heap.Interface.
func (q *staged) Push(s any) {
	s.(*slot).index = len(*q)
	*q = append(*q, s.(*slot))
}

// Pop implements heap.Interface.
func (q *staged) Pop() any {
	last := len(*q) - 1
	s := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	s.index = -1
	return s
}
