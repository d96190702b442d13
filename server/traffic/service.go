// Package traffic decides which version or model answers a request that names no version: by
// headers, parameters and weights, for sequences by the version that they began on, and for canaries
// by a share that grows. It stands between the frontends and the repository. The document of the
// rules is package trafficrules. A canary compares the answers of two targets, and a shadow copies requests.
package traffic

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/pkg/trafficrules"
	"triton/server/infer"
)

// Rules is the document of the control API and of the parameter traffic_rules.
type Rules = trafficrules.Rules

// Options configure a Service.
type Options struct {
	// Models is the service that has the models.
	Models infer.Service
	Pool   *tensor.Pool
	Log    *slog.Logger
	// Random returns a number from 0 to 1 for choices by chance; nil: rand.Float64.
	Random func() float64
	// Record is a file that keeps the states of canaries over a restart; empty: they begin anew.
	Record string
}

// Service applies the rules to the requests for models. It is an infer.Service: all other calls go
// to the models' service.
type Service struct {
	infer.Service
	opts Options
	// table has the policies by name. It is nil without any, so that a server without rules
	// only reads one pointer.
	table atomic.Pointer[table]

	mu         sync.Mutex // guards names and what they hold; held while table changes
	names      map[string]*name
	generation uint64
	canaryFile canaryFile
	// run is the context of Run; nil before and after it.
	run     context.Context
	closing sync.WaitGroup // shadows that end
}

// table is the policies by name; not changed once it is published.
type table map[string]*policy

var _ infer.Service = (*Service)(nil)

// New returns a service without rules. It starts nothing.
func New(o Options) *Service {
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	// Generations go on after a restart, so that a writer who read before it does not overwrite.
	s := &Service{Service: o.Models, opts: o, names: map[string]*name{}, generation: uint64(time.Now().UnixMilli())}
	s.readRecords()
	return s
}

// policy returns the policy of a name; nil without rules.
func (s *Service) policy(name string) *policy {
	t := s.table.Load()
	if t == nil {
		return nil
	}
	return (*t)[name]
}

// Model returns a ready version of a model, or, of a name with rules, a model from which Choose
// makes the version that answers a request.
func (s *Service) Model(name, version string) (infer.Model, error) {
	if version != "" {
		return s.Service.Model(name, version)
	}
	p := s.policy(name)
	if p == nil {
		return s.Service.Model(name, version)
	}
	m, at, err := s.acquireFallback(p)
	if err != nil {
		return nil, err
	}
	return s.routed(m, p, at), nil
}

// routed returns the model from which Choose makes the version that answers a request. It takes the
// caller's reference to m, the fallback.
func (s *Service) routed(m infer.Model, p *policy, at trafficrules.Target) *routed {
	d := routedModels.Get().(*routed)
	*d = routed{Model: m, service: s, policy: p, at: at}
	return d
}

// acquireFallback returns the fallback of a policy, or else the newest version of the model. The
// fallback's own rules apply as far as they have a fallback.
func (s *Service) acquireFallback(p *policy) (infer.Model, trafficrules.Target, error) {
	at := s.resolve(p)
	m, err := s.Service.Model(at.Model, at.Version)
	if own := (trafficrules.Target{Model: p.name.name}); err != nil && at != own {
		if newest, otherErr := s.Service.Model(own.Model, ""); otherErr == nil {
			return newest, own, nil
		}
	}
	return m, at, err
}

// resolve returns the fallback of a policy, followed through the rules of other names.
func (s *Service) resolve(p *policy) trafficrules.Target {
	at := p.targets[p.fallback]
	for range trafficrules.MaxChain {
		next := s.next(p, at)
		if next == nil {
			break
		}
		p, at = next, next.targets[next.fallback]
	}
	return at
}

// next returns the policy that applies after a target of p was chosen; nil: none does.
func (s *Service) next(p *policy, t trafficrules.Target) *policy {
	if t.Version != "" || t.Model == p.name.name {
		return nil
	}
	return s.policy(t.Model)
}

// ModelReady reports whether a version works; for an alias, whether its fallback does.
func (s *Service) ModelReady(name, version string) (bool, error) {
	if p := s.policy(name); p != nil && version == "" {
		if at := s.resolve(p); at.Model != name {
			return s.Service.ModelReady(at.Model, at.Version)
		}
	}
	return s.Service.ModelReady(name, version)
}

// Resolve returns the model and the version that a call of another model for a name means, when it
// names no version: the fallback of the rules. Ensembles hold their steps before the requests of
// the steps exist, so no other rule can apply.
func (s *Service) Resolve(name string) (model, version string) {
	p := s.policy(name)
	if p == nil {
		return name, ""
	}
	at := s.resolve(p)
	return at.Model, at.Version
}

// Changed takes note of the configuration of the newest version of a model whose versions have changed; nil: no
// version is ready. It does not block.
func (s *Service) Changed(model string, config *inferencepb.ModelConfig) {
	if config == nil {
		return // the rules stay for the time when the model is back
	}
	s.setFile(model, config.GetParameters()[trafficrules.Parameter].GetStringValue())
}
