package sequence

// hold keeps everything waiting until enough requests are there, once: what
// TRITONSERVER_DELAY_SCHEDULER and TRITONSERVER_BACKLOG_DELAY_SCHEDULER ask for.
type hold struct{ slots, backlog int }

func (h *hold) on() bool { return h.slots > 0 || h.backlog > 0 }

// look ends the hold when all requests are there.
func (h *hold) look(s *Source) {
	if !h.on() || s.mu.backlog.requests < h.backlog {
		return
	}
	n := 0
	for _, b := range s.benches {
		n += b.line.Len()
		for _, l := range b.slots {
			if l.seq != nil {
				n += l.seq.waiting.Len()
			}
		}
	}
	if n < h.slots {
		return
	}
	*h = hold{}
	for _, b := range s.benches {
		s.check(b)
	}
}
