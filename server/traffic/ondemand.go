package traffic

import (
	"context"

	"triton/pkg/trafficrules"
	"triton/server/infer"
)

var _ infer.OnDemand = (*Service)(nil)

// OnDemand reports whether requests load models.
func (s *Service) OnDemand() bool { return infer.LoadsOnDemand(s.Service) }

// Await loads a model for a request; of a name with rules, the fallback. A target that is another
// model is not loaded for a request: the fallback answers while it is not.
func (s *Service) Await(ctx context.Context, name, version string, cause error) (infer.Model, error) {
	d, ok := s.Service.(infer.OnDemand)
	if !ok {
		return nil, cause
	}
	p := s.policy(name)
	if p == nil || version != "" {
		return d.Await(ctx, name, version, cause)
	}
	at := s.resolve(p)
	m, err := d.Await(ctx, at.Model, at.Version, cause)
	if err != nil {
		return nil, err
	}
	return s.routed(m, p, at), nil
}

// Describe describes a model that is not loaded; for a name with rules, the fallback.
func (s *Service) Describe(ctx context.Context, name, version string, cause error) (infer.Description, error) {
	d, ok := s.Service.(infer.OnDemand)
	if !ok {
		return nil, cause
	}
	at := trafficrules.Target{Model: name, Version: version}
	if p := s.policy(name); p != nil && version == "" {
		at = s.resolve(p)
	}
	return d.Describe(ctx, at.Model, at.Version, cause)
}
