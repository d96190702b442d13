package traffic

import (
	"context"
	"errors"
	"time"

	"triton/pkg/log"
	"triton/pkg/trafficrules"
	"triton/server/infer"
)

// send runs a copy and compares the outputs.
func (s *shadow) send(ctx context.Context, c *shadowCopy) {
	defer c.Drop()
	defer s.contain(c)
	m, err := s.opts.Acquire()
	if err != nil {
		s.counts.fail(c.diff(nil, err))
		return
	}
	defer m.Release()
	if m.Name() == c.name && m.Version() == c.version || m.Config().Decoupled() || m.Config().GetSequenceBatching() != nil {
		s.counts.skipped.Add(1)
		return
	}
	r := c.request
	c.request = nil
	defer r.Release()
	r.ModelName, r.ModelVersion = m.Name(), m.Version()
	r.Priority = m.Config().GetDynamicBatching().GetPriorityLevels() // the lowest
	ctx, cancel := context.WithTimeout(ctx, s.opts.Config.Timeout())
	defer cancel()
	resp, err := m.Infer(ctx, r)
	if err == nil {
		defer resp.Release()
		err = resp.Err
	}
	if err != nil {
		if !errors.Is(ctx.Err(), context.Canceled) { // otherwise the shadow ends
			s.counts.fail(c.diff(m, err))
		}
		return
	}
	s.counts.add(s.opts.Config, compareOutputs(s.opts.Config, c.outputs, resp.Outputs), c.diff(m, nil))
}

// contain makes a panic a failed copy: what a copy meets ends nothing but the copy.
func (s *shadow) contain(c *shadowCopy) {
	if p := recover(); p != nil {
		log.Panicked(s.opts.Log, "panic while a copied request was compared", p, "primary", c.name+":"+c.version)
		s.counts.fail(c.diff(nil, errShadowPanic))
	}
}

var errShadowPanic = errors.New("internal error of the shadow; the server's log has the details")

// diff returns the part of a difference that all outputs share.
func (c *shadowCopy) diff(m infer.Model, err error) trafficrules.Diff {
	d := trafficrules.Diff{Time: time.Now(), Primary: c.name + ":" + c.version}
	if m != nil {
		d.Shadow = m.Name() + ":" + m.Version()
	}
	if !c.shadow.opts.Config.HideContents {
		d.RequestID = c.id
	}
	if err != nil {
		d.Reason = reasonError
		if !c.shadow.opts.Config.HideContents {
			d.Detail = err.Error()
		}
	}
	return d
}
