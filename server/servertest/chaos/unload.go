package chaos

import (
	"fmt"
	"os"
	"sync"
	"time"

	"triton/pkg/client"
)

// unload takes a model out of service by request, and loads it again. From the end of the
// unload on it answers nothing.
type unload struct{}

func (unload) applies(m Model, c Control) bool {
	return c == Explicit && m.Name != "" && m.kind != "ensemble" && m.Name != "part"
}

func (unload) play(e *episode) error {
	e.oracle.fails(e.x, 0, time.Now())
	if err := e.client().Unload(e.ctx, e.x.Name, false); err != nil {
		return fmt.Errorf("unloading: %w", err)
	}
	e.oracle.gone(e.x, time.Now())
	e.wait(500 * time.Millisecond)
	return e.back()
}

// back brings a model that was out of service back.
func (e *episode) back() error {
	if err := e.served(); err != nil {
		return err
	}
	e.oracle.works(e.x, 0, time.Now())
	return nil
}

// race loads and unloads a model at the same time, several times. At the end it serves what is
// in its folder.
type race struct{}

func (race) applies(m Model, c Control) bool { return unload{}.applies(m, c) }

func (race) play(e *episode) error {
	e.oracle.fails(e.x, 0, time.Now())
	e.oracle.may(e.x, time.Now())
	var all sync.WaitGroup
	for range 2 + e.rng.IntN(4) {
		delay, load, c := time.Duration(e.rng.Int64N(int64(200*time.Millisecond))), e.rng.IntN(2) == 0, e.client()
		all.Go(func() { // either may find the other at work
			time.Sleep(delay)
			if load {
				_ = c.Load(e.ctx, e.x.Name, client.Override{})
			} else {
				_ = c.Unload(e.ctx, e.x.Name, e.Seed%2 == 0)
			}
		})
	}
	all.Wait()
	return e.back()
}

// folder takes the whole folder of a model away and brings it back.
type folder struct{}

func (folder) applies(m Model, c Control) bool {
	return c == Poll && m.Name != "" && m.kind != "ensemble" && m.Name != "part"
}

func (folder) play(e *episode) error {
	e.oracle.fails(e.x, 0, time.Now())
	away := e.staging("away")
	if err := os.Rename(e.x.dir, away); err != nil {
		return err
	}
	err := e.eventually("the model refuses requests", func() bool { return e.probe(0).err != nil })
	if err != nil {
		return err
	}
	e.oracle.gone(e.x, time.Now())
	e.wait(2 * time.Second)
	e.oracle.may(e.x, time.Now())
	if err := os.Rename(away, e.x.dir); err != nil {
		return err
	}
	return e.back()
}
