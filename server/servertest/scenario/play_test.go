package scenario

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// patience is how long one request may take.
const patience = 30 * time.Second

// caller sends a request of a script to a server and reports its responses. It returns at the
// end of the request.
type caller func(ctx context.Context, e *Event, m *Model, reply func(text string))

// player plays the script of one scenario.
type player struct {
	*Scenario
	call        caller
	waitArrived func() // waits until a request has arrived
	begin       time.Time

	mu      sync.Mutex
	replies []Reply
	sent    sync.WaitGroup
	cancels map[string]context.CancelFunc
}

// play returns when all requests have their final response and the time of the scenario is over.
func (p *player) play(ctx context.Context, t testing.TB) {
	p.begin, p.cancels = time.Now(), map[string]context.CancelFunc{}
	var last, end time.Duration
	for i := range p.Events {
		e := &p.Events[i]
		if e.Kind == End {
			end = e.At
			continue
		}
		due := e.At
		if i > 0 && p.Events[i-1].At == e.At {
			due = last + Step
		}
		last = due
		time.Sleep(time.Until(p.begin.Add(due)))
		p.do(ctx, t, e)
		p.waitArrived()
	}
	p.sent.Wait()
	time.Sleep(time.Until(p.begin.Add(end)))
}

func (p *player) do(ctx context.Context, t testing.TB, e *Event) {
	if e.Kind == Cancel {
		cancel := p.cancels[e.Name]
		if cancel == nil {
			t.Errorf("%s: nothing to cancel: %s", p.Name, e.Name)
			return
		}
		cancel()
		return
	}
	m := p.model(e.Request.Model)
	if m == nil {
		t.Errorf("%s: no model %q", p.Name, e.Request.Model)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	p.cancels[e.Name] = cancel
	p.sent.Go(func() {
		p.call(ctx, e, m, func(text string) {
			at := time.Since(p.begin)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.replies = append(p.replies, Reply{At: at, Name: e.Name, Text: text})
		})
	})
}

// model finds a model; the first when no name is given.
func (s *Scenario) model(name string) *Model {
	for i := range s.Models {
		if m := &s.Models[i]; name == "" || m.Name == name {
			return m
		}
	}
	return nil
}

// ended is an error as a reply: its name and its text, which the client makes up
// itself when it does not wait any more.
func ended(ctx context.Context, code fmt.Stringer, text string) string {
	if text == "" || ctx.Err() != nil {
		return code.String()
	}
	return code.String() + ": " + text
}
