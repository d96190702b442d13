package traffic

import (
	"context"
	"fmt"
	"time"

	"triton/pkg/trafficrules"
)

// tickInterval is how often canaries are compared. Clear harm is found within that time.
const tickInterval = time.Second

// Run compares the targets of canaries and runs the copies of shadows until ctx ends. Requests are
// sent by the rules without it too.
func (s *Service) Run(ctx context.Context) {
	s.mu.Lock()
	s.run = ctx
	for _, n := range s.names {
		if n.shadow != nil {
			n.shadow.Start(ctx)
		}
	}
	s.mu.Unlock()
	defer s.end()
	tick := time.NewTicker(tickInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.tick(time.Now())
			s.save()
		case <-ctx.Done():
			return
		}
	}
}

// end ends all shadows and waits for them.
func (s *Service) end() {
	s.mu.Lock()
	s.run = nil
	var all []*shadow
	for _, n := range s.names {
		if n.shadow != nil {
			all = append(all, n.shadow)
		}
	}
	s.mu.Unlock()
	for _, m := range all {
		m.Close()
	}
	s.closing.Wait()
	s.save()
}

// tick compares the targets of all canaries, and drops what only open sequences kept.
func (s *Service) tick(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.sorted() {
		if n.canary != nil && n.canary.Tick(now, s.missing(n)) {
			s.canaryChanged(n)
		}
		if n.rules() == nil && n.sequences.count(now) == 0 {
			s.publish(n)
		}
	}
}

// missing returns which target of a canary is not ready; empty: both are.
func (s *Service) missing(n *name) string {
	c := n.canary.Config()
	for _, t := range []trafficrules.Target{c.Stable.Of(n.name), c.Of(n.name)} {
		m, err := s.Service.Model(t.Model, t.Version)
		if err != nil {
			return fmt.Sprintf("%s is not ready", t)
		}
		m.Release()
	}
	return ""
}
