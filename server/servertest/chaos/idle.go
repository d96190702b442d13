package chaos

import (
	"fmt"
	"slices"

	"triton/pkg/client"
)

// idle sends no requests to a model until the server has unloaded it to save memory. The requests that
// come then wait for the load, and none fails.
type idle struct{}

func (idle) applies(m Model, c Control) bool {
	return c == Auto && m.Name != "" && m.kind != "ensemble" && m.kind != "sequence" && m.Name != "part"
}

func (idle) play(e *episode) error {
	e.x.resting.Store(true)
	defer e.x.resting.Store(false)
	err := e.eventually("the idle model is unloaded", func() bool {
		all, err := e.client().Index(e.ctx, true)
		return err == nil && !slices.ContainsFunc(all, func(m *client.IndexEntry) bool { return m.GetName() == e.x.Name })
	})
	if err != nil {
		return err
	}
	if a := e.probe(0); a.err != nil || e.oracle.judge(a) != "" {
		return fmt.Errorf("the first request after the unload: %s (%w)", e.oracle.judge(a), a.err)
	}
	return nil
}
