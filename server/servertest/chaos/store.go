package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"triton/pkg/client"
)

// storeUpdate replaces the content of a model in a remote store. No request may fail.
type storeUpdate struct{}

func (storeUpdate) applies(m Model, c Control) bool { return m.remote && c != Auto }

func (storeUpdate) play(e *episode) error { return update{}.play(e) }

// storeSlow does so while the store takes its time for each answer.
type storeSlow struct{ storeUpdate }

func (storeSlow) play(e *episode) error {
	e.Depot.behave(100*time.Millisecond+time.Duration(e.rng.Int64N(int64(time.Second))), false)
	defer e.Depot.behave(0, false)
	return update{}.play(e)
}

// storeGone does so while the store does not answer. The model serves what it has, and the change when
// the store is back.
type storeGone struct{ storeUpdate }

func (storeGone) play(e *episode) error {
	e.Depot.behave(0, true)
	defer e.Depot.behave(0, false)
	v := e.any()
	before := e.x.current[v]
	if err := e.write(v, e.next()); err != nil {
		return err
	}
	if e.Control == Explicit {
		ctx, cancel := context.WithTimeout(e.ctx, 500*time.Millisecond)
		defer cancel()
		if err := e.client().Load(ctx, e.x.Name, client.Override{}); err == nil {
			return errors.New("the model was loaded from a store that is gone")
		}
	}
	e.wait(3 * time.Second)
	if a := e.probe(v); a.err != nil || a.edition != before {
		return fmt.Errorf("while the store is gone version %d answers with edition %d (%w), not %d", v, a.edition, a.err, before)
	}
	e.Depot.behave(0, false)
	if e.Control == Explicit {
		if err := e.eventually("the model loads again", func() bool { return e.load() == nil }); err != nil {
			return err
		}
	}
	return e.served()
}
