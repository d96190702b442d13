package scheduler

// IndexedHeap is a heap for container/heap whose elements know where they are in it, so that they can
// be fixed and removed. O orders it, as type and not as value: the zero heap is ready for use.
type IndexedHeap[T any, O HeapOrder[T]] []T

// HeapOrder is the order of an IndexedHeap.
type HeapOrder[T any] interface {
	Before(a, b T) bool
	// Index is where an element keeps its index in the heap; -1: it is not there.
	Index(element T) *int
}

// Len implements heap.Interface.
func (h IndexedHeap[T, O]) Len() int { return len(h) }

// Less implements heap.Interface.
func (h IndexedHeap[T, O]) Less(i, j int) bool {
	var o O
	return o.Before(h[i], h[j])
}

// Swap implements heap.Interface.
func (h IndexedHeap[T, O]) Swap(i, j int) {
	var o O
	h[i], h[j] = h[j], h[i]
	*o.Index(h[i]), *o.Index(h[j]) = i, j
}

// Push implements heap.Interface.
func (h *IndexedHeap[T, O]) Push(element any) {
	var o O
	*o.Index(element.(T)) = len(*h)
	*h = append(*h, element.(T))
}

// Pop implements heap.Interface.
func (h *IndexedHeap[T, O]) Pop() any {
	var o O
	last := len(*h) - 1
	element := (*h)[last]
	clear((*h)[last:])
	*h = (*h)[:last]
	*o.Index(element) = -1
	return element
}
