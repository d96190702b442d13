package trafficrules

import "slices"

// Of returns the target with the model that it means in the rules of a name.
func (t Target) Of(name string) Target {
	if t.Model == "" {
		t.Model = name
	}
	return t
}

// String returns the model and the version, as "model:2", or the model alone.
func (t Target) String() string {
	if t.Version == "" {
		return t.Model
	}
	return t.Model + ":" + t.Version
}

// Fallback returns the target of requests that nothing else decides, and of those whose target is
// not ready.
func (r *Rules) Fallback(name string) Target {
	switch {
	case r.Default != nil:
		return r.Default.Of(name)
	case r.Canary != nil:
		return r.Canary.Stable.Of(name)
	case len(r.Weights) > 0:
		return slices.MaxFunc(r.Weights, func(a, b Weight) int {
			switch {
			case a.Weight < b.Weight:
				return -1
			case a.Weight > b.Weight:
				return 1
			}
			return 0
		}).Of(name)
	}
	return Target{Model: name}
}

// Next returns the models whose rules may apply after the rules of a name.
func (r *Rules) Next(name string) []string {
	var all []string
	add := func(t Target) {
		if t.Model != "" && t.Model != name && t.Version == "" && !slices.Contains(all, t.Model) {
			all = append(all, t.Model)
		}
	}
	if r.Default != nil {
		add(*r.Default)
	}
	for _, m := range r.Match {
		add(m.To)
	}
	for _, w := range r.Weights {
		add(w.Target)
	}
	if r.Canary != nil {
		add(r.Canary.Target)
		add(r.Canary.Stable)
	}
	return all
}

// Leads reports whether the rules of a name lead to another model.
func (r *Rules) Leads(name string) bool {
	all := []Target{r.Fallback(name)}
	for _, m := range r.Match {
		all = append(all, m.To)
	}
	for _, w := range r.Weights {
		all = append(all, w.Target)
	}
	if r.Canary != nil {
		all = append(all, r.Canary.Target)
	}
	return slices.ContainsFunc(all, func(t Target) bool { return t.Of(name).Model != name })
}

// MaxChain is the maximum number of names whose rules apply to one request.
const MaxChain = 4

// CheckChain returns an error if the rules of a name lead back to it, or through more than MaxChain
// names. rules returns the rules of other names; nil: a name has none.
func CheckChain(name string, r *Rules, rules func(name string) *Rules) error {
	return checkChain([]string{name}, r, rules)
}

func checkChain(path []string, r *Rules, rules func(string) *Rules) error {
	for _, next := range r.Next(path[len(path)-1]) {
		following := append(slices.Clip(path), next)
		switch n := rules(next); {
		case slices.Contains(path, next):
			return fieldError("", "the rules lead back to '%s': %s", next, join(following))
		case n == nil:
		case len(following) > MaxChain:
			return fieldError("", "the rules lead through more than %d names: %s", MaxChain, join(following))
		default:
			if err := checkChain(following, n, rules); err != nil {
				return err
			}
		}
	}
	return nil
}

func join(path []string) string {
	text := path[0]
	for _, p := range path[1:] {
		text += " -> " + p
	}
	return text
}
