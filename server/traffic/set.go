package traffic

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/trafficrules"
	"triton/server/infer"
)

// maxNames bounds the number of names with rules.
const maxNames = 10_000

// Traffic returns the live rules of a model, in the form that SetTraffic reads; nil: it has none.
func (s *Service) Traffic(_ context.Context, model string) (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.names[model]
	if n == nil || n.live == nil {
		return nil, nil
	}
	return json.Marshal(n.live)
}

// SetTraffic replaces the live rules of a model or an alias. An empty document, or null, deletes
// them.
func (s *Service) SetTraffic(ctx context.Context, model string, document json.RawMessage) error {
	if text := string(document); text == "" || text == "null" {
		return s.Delete(ctx, model, nil)
	}
	return s.set(model, document, nil)
}

// Set replaces the live rules of a model or an alias. With a generation it returns
// trafficrules.ErrGeneration unless the rules still have that generation. Rules of an unknown name that
// lead to no model are refused, because the name is probably wrong.
func (s *Service) Set(_ context.Context, model string, document []byte, generation *uint64) error {
	rules, err := trafficrules.Read(model, document)
	if err == nil && !rules.Leads(model) && !s.known(model) {
		return status.New(status.NotFound, "traffic rules of '%s': there is no such model in the repository, and the rules name no other one", model)
	}
	return s.set(model, document, generation)
}

// known reports whether a model is in the repository.
func (s *Service) known(model string) bool {
	return slices.ContainsFunc(s.Service.Index(false).GetModels(), func(m *inferencepb.RepositoryIndexResponse_ModelIndex) bool {
		return m.GetName() == model
	})
}

func (s *Service) set(model string, document []byte, generation *uint64) error {
	if err := infer.CheckModelName(model); err != nil {
		return err
	}
	rules, err := trafficrules.Read(model, document)
	if err != nil {
		return ruleError(model, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.names[model]
	if !n.has(generation) {
		return trafficrules.ErrGeneration
	}
	if err := trafficrules.CheckChain(model, rules, s.rulesOf); err != nil {
		return ruleError(model, err)
	}
	if n == nil {
		if len(s.names) >= maxNames {
			return status.New(status.InvalidArg, "%d models have traffic rules already, which is the maximum", maxNames)
		}
		n = &name{name: model}
		s.names[model] = n
	}
	n.live = rules
	s.apply(n)
	s.opts.Log.Info(fmt.Sprintf("traffic rules of '%s' were set by the control API", model))
	return nil
}

// Delete removes the live rules of a model: then those of its file apply. It is not an error if
// there are none.
func (s *Service) Delete(_ context.Context, model string, generation *uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.names[model]
	if !n.has(generation) {
		return trafficrules.ErrGeneration
	}
	if n == nil || n.live == nil {
		return nil
	}
	n.live = nil
	s.forget(model)
	s.apply(n)
	s.opts.Log.Info(fmt.Sprintf("traffic rules of '%s' were deleted by the control API", model))
	return nil
}

// has reports whether the rules have a generation; nil: any. Without rules the generation is 0.
func (n *name) has(generation *uint64) bool {
	switch {
	case generation == nil:
		return true
	case n == nil || n.rules() == nil:
		return *generation == 0
	}
	return n.generation == *generation
}

func ruleError(model string, err error) error {
	return status.New(status.InvalidArg, "traffic rules of '%s': %w", model, err)
}

// rulesOf returns the rules of a name. The caller holds the lock.
func (s *Service) rulesOf(name string) *trafficrules.Rules {
	if n := s.names[name]; n != nil {
		return n.rules()
	}
	return nil
}

// setFile sets the rules in the file of a model, which was checked when the model was loaded.
func (s *Service) setFile(model, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.names[model]
	switch {
	case n == nil && text == "", n != nil && n.fileText == text:
		return
	case n == nil:
		n = &name{name: model}
		s.names[model] = n
	}
	n.fileText = text
	var rules *trafficrules.Rules
	if text != "" {
		var err error
		if rules, err = trafficrules.Read(model, []byte(text)); err == nil {
			err = trafficrules.CheckChain(model, rules, s.rulesOf)
		}
		if err != nil {
			s.opts.Log.Error(fmt.Sprintf("the traffic rules in the file of '%s' are not used: %v", model, err))
			rules = nil
		}
	}
	n.file = rules
	if n.live == nil {
		s.apply(n)
	}
}

// apply makes the policy of a name from its rules. The caller holds the lock.
func (s *Service) apply(n *name) {
	s.generation++
	n.generation = s.generation
	rules := n.rules()
	var c *trafficrules.Canary
	var m *trafficrules.Shadow
	if rules != nil {
		c, m = rules.Canary, rules.Shadow
	}
	// A canary and a shadow go on if their part of the document is the same.
	if n.canary == nil || !reflect.DeepEqual(n.canary.Config(), c) {
		n.canary = nil
		switch {
		case c != nil:
			n.canary = s.resumeCanary(n.name, c)
		case rules != nil: // else the model may be loaded again with the same rules
			s.forget(n.name)
		}
	}
	if n.shadow == nil || !reflect.DeepEqual(n.shadow.Config(), m) {
		s.endShadow(n)
		if m != nil {
			n.shadow = s.startShadow(n.name, m)
		}
	}
	s.publish(n)
}

// publish puts the policy of a name into the table. Without rules the policy stays until the open
// sequences have ended. The caller holds the lock.
func (s *Service) publish(n *name) {
	next := table{}
	if old := s.table.Load(); old != nil {
		next = maps.Clone(*old)
	}
	rules := n.rules()
	if rules == nil && n.sequences.count(time.Now()) > 0 {
		rules = &trafficrules.Rules{}
	}
	if rules == nil {
		delete(next, n.name)
		delete(s.names, n.name)
	} else {
		next[n.name] = compile(n, rules, n.canary, n.shadow)
	}
	if len(next) == 0 {
		s.table.Store(nil)
		return
	}
	s.table.Store(&next)
}

// startShadow returns the shadow of a name, which runs if the service does.
func (s *Service) startShadow(model string, c *trafficrules.Shadow) *shadow {
	to := c.Of(model)
	m := newShadow(shadowOptions{
		Config: c, Pool: s.opts.Pool, Random: s.opts.Random, Log: s.opts.Log,
		Acquire: func() (infer.Model, error) { return s.Service.Model(to.Model, to.Version) },
	})
	if s.run != nil {
		m.Start(s.run)
	}
	return m
}

// endShadow ends the shadow of a name; while the service runs, without waiting for it. The caller
// holds the lock.
func (s *Service) endShadow(n *name) {
	if m := n.shadow; m != nil {
		n.shadow = nil
		if s.run == nil { // nothing waits for closing any more
			m.Close()
			return
		}
		s.closing.Go(m.Close)
	}
}

// errNoCanary answers commands for a model without a canary.
func errNoCanary(model string) error {
	return status.New(status.NotFound, "'%s' has no canary", model)
}

// Promote gives the canary of a model the share of its last step.
func (s *Service) Promote(model string) error { return s.command(model, (*canary).Promote) }

// Rollback takes the share of a model's canary away.
func (s *Service) Rollback(model string) error {
	return s.command(model, (*canary).Rollback)
}

func (s *Service) command(model string, do func(*canary, time.Time)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.names[model]
	if n == nil || n.canary == nil {
		return errNoCanary(model)
	}
	do(n.canary, time.Now())
	s.canaryChanged(n)
	return nil
}

// canaryChanged publishes and logs the state of a canary that has changed. The caller holds the
// lock.
func (s *Service) canaryChanged(n *name) {
	st := n.canary.Status()
	if st.State == trafficrules.CanaryRolledBack {
		n.rollbacks++
	}
	s.publish(n)
	s.remember(n)
	text := fmt.Sprintf("canary %s of '%s': %s, step %d of %d, %g %% of the requests", n.canary.Config().Of(n.name), n.name, st.State, st.Step, st.Steps, st.Weight)
	if st.Reason != "" {
		text += ": " + st.Reason
	}
	if st.State == trafficrules.CanaryRolledBack {
		s.opts.Log.Warn(text)
		return
	}
	s.opts.Log.Info(text)
}

// sorted returns the names with rules in order. The caller holds the lock.
func (s *Service) sorted() []*name {
	all := make([]*name, 0, len(s.names))
	for _, key := range slices.Sorted(maps.Keys(s.names)) {
		all = append(all, s.names[key])
	}
	return all
}
