package sequence

// hold delays the first batch until enough requests wait, for tests: in slots, as many as
// TRITONSERVER_DELAY_SCHEDULER says, and in the backlog, as many as
// TRITONSERVER_BACKLOG_DELAY_SCHEDULER says.
type hold struct{ slots, backlog int }

func (h *hold) on() bool { return h.slots > 0 || h.backlog > 0 }

// endIfReached ends the hold when enough requests wait.
func (h *hold) endIfReached(s *Source) {
	if !h.on() || s.mu.backlog.requests < h.backlog {
		return
	}
	n := 0
	for _, inst := range s.mu.instances {
		n += inst.queue.Len()
		for _, l := range inst.slots {
			if l.seq != nil {
				n += l.seq.waiting.Len()
			}
		}
	}
	if n < h.slots {
		return
	}
	*h = hold{}
	for _, inst := range s.mu.instances {
		s.wakeIfDue(inst)
	}
}
