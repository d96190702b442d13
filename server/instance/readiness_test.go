package instance_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend"
	"triton/server/infer"
	"triton/server/instance"
)

// checked is a model whose instances have readiness checks, by name; nil: none.
type checked map[string]func() error

func (m checked) NewInstance(_ context.Context, at backend.Placement) (backend.Instance, error) {
	if check := m[at.Name]; check != nil {
		return checkedInstance{check: check}, nil
	}
	return plainInstance{}, nil
}

func (checked) Close() error { return nil }

type plainInstance struct{}

func (plainInstance) Execute(context.Context, *infer.Batch) error { return nil }
func (plainInstance) Close() error                                { return nil }

type checkedInstance struct {
	plainInstance
	check func() error
}

func (in checkedInstance) CheckReady() error { return in.check() }

// TestCheckReady: all instances with a readiness check are asked at the same time, passive ones
// too. The first error in their order counts; a panic is one.
func TestCheckReady(t *testing.T) {
	t.Parallel()
	meet := make(chan struct{})
	give := func() error { meet <- struct{}{}; return errors.New("first") }
	take := func() error { <-meet; return errors.New("second") }
	fine := func() error { return nil }
	for name, c := range map[string]struct {
		model checked
		want  string
	}{
		"no check":   {checked{}, ""},
		"all ready":  {checked{"m_0_0": fine, "m_0_1": fine, "passive": fine}, ""},
		"one is not": {checked{"m_0_1": func() error { return errors.New("busy") }}, "busy"},
		"passive":    {checked{"m_0_0": fine, "passive": func() error { return errors.New("busy") }}, "busy"},
		"both":       {checked{"m_0_0": give, "m_0_1": take}, "first"},
		"panic":      {checked{"m_0_0": func() error { panic("oh") }}, "the readiness check of instance 'm_0_0' panicked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, _ := group(t, &inferencepb.ModelConfig{Name: "m"}, c.model, 2, func(o *instance.Options) {
				o.Passive = []backend.Placement{{Name: "passive"}}
			})
			if err := g.CheckReady(); c.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.want)
			}
		})
	}
}
