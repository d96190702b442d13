package chaos

import (
	"context"
	"fmt"
	"time"
)

// instances changes only the number of instances. No request may fail, and sequences go on.
type instances struct{}

func (instances) applies(m Model, _ Control) bool { return m.Name != "" && m.kind != "ensemble" }

func (instances) play(e *episode) error {
	n := 2 + e.rng.IntN(2)
	if err := e.count(n); err != nil {
		return err
	}
	e.wait(500 * time.Millisecond)
	return e.count(1)
}

// count sets the number of instances, and returns when the server has it.
func (e *episode) count(n int) error {
	e.x.config = e.x.Model.config(n)
	if err := e.configure(e.x.config); err != nil {
		return err
	}
	if e.Control == Explicit {
		if err := e.load(); err != nil {
			return err
		}
	}
	return e.eventually(fmt.Sprintf("%d instances", n), func() bool {
		ctx, cancel := context.WithTimeout(e.ctx, patience)
		defer cancel()
		c, err := e.client().ModelConfig(ctx, e.x.Name, "")
		if err != nil {
			e.oracle.wrongf("%s: asking for the configuration: %v", e.x.Name, err)
			return true
		}
		groups := c.GetInstanceGroup()
		return len(groups) == 1 && groups[0].GetCount() == int32(n)
	})
}
