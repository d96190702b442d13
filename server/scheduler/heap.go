package scheduler

// indexedHeap is a heap for container/heap whose elements know where they are in it, so that they can
// be fixed and removed. O orders it, as type and not as value: the zero heap is ready for use.
type indexedHeap[T any, O heapOrder[T]] []T

type heapOrder[T any] interface {
	before(a, b T) bool
	// index is the index of an element in the heap; -1 if it is not there.
	index(element T) *int
}

func (h indexedHeap[T, O]) Len() int { return len(h) }

func (h indexedHeap[T, O]) Less(i, j int) bool {
	var o O
	return o.before(h[i], h[j])
}

func (h indexedHeap[T, O]) Swap(i, j int) {
	var o O
	h[i], h[j] = h[j], h[i]
	*o.index(h[i]), *o.index(h[j]) = i, j
}

// Push implements heap.Interface.
func (h *indexedHeap[T, O]) Push(element any) {
	var o O
	*o.index(element.(T)) = len(*h)
	*h = append(*h, element.(T))
}

// Pop implements heap.Interface.
func (h *indexedHeap[T, O]) Pop() any {
	var o O
	last := len(*h) - 1
	element := (*h)[last]
	clear((*h)[last:])
	*h = (*h)[:last]
	*o.index(element) = -1
	return element
}
