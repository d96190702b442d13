package scheduler

// Add returns a further slot, which is out of service until Restore.
func (q *Queue) Add(index int) *Slot {
	s := NewSlot(index)
	s.retired = true
	return s
}

// Discard does nothing: the queue does not know the slots that it does not wait for.
func (q *Queue) Discard(*Slot) {}

// Remove takes a slot out of service. Waiting requests are not bound to a slot, so that it is the
// same as Retire, but for good: the batch that runs is the last one.
func (q *Queue) Remove(s *Slot) {
	q.mu.Lock()
	s.removed = true
	q.mu.Unlock()
	q.Retire(s)
}
