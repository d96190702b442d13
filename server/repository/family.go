package repository

import (
	"context"
	"slices"

	"triton/pkg/modelconfig"
)

// families is the name that stands for all models that ensembles connect: who
// works on several of them holds it, so that no two such calls wait for each
// other's models. It is no name of a model.
const families = ""

// reserve holds the name of a model and, if ensembles connect it with others,
// theirs. With override it is known what the model is to be.
func (r *Repository) reserve(ctx context.Context, name string, override *string) (free func(), err error) {
	for {
		all := r.family(name, override)
		if len(all) > 1 {
			return r.hold(ctx, append([]string{families}, all...))
		}
		if free, err = r.hold(ctx, all); err != nil || len(r.family(name, override)) == 1 {
			return free, err
		}
		free() // it came to a family while this call waited
	}
}

func (r *Repository) hold(ctx context.Context, all []string) (free func(), err error) {
	var held []func()
	free = func() {
		for _, f := range slices.Backward(held) {
			f()
		}
	}
	for _, name := range all {
		f, err := r.names.hold(ctx, name)
		if err != nil {
			free()
			return nil, err
		}
		held = append(held, f)
	}
	return free, nil
}

// family are the names of a model, of those that its steps need, and of the
// ensembles that need one of them, as far as they are known, sorted.
func (r *Repository) family(name string, override *string) []string {
	all := []string{name}
	add := func(names []string) {
		for _, n := range names {
			if n != families && !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	if override != nil {
		if c, err := modelconfig.ParseJSON("", []byte(*override)); err == nil {
			add(stepNames(c))
		}
	}
	for i := 0; i < len(all); i++ {
		if i > 0 || override == nil {
			add(r.writtenSteps(all[i]))
		}
		add(r.relatives(all[i]))
	}
	slices.Sort(all)
	return all
}

func stepNames(c *modelconfig.Config) []string {
	var all []string
	for _, s := range c.GetEnsembleScheduling().GetStep() {
		all = append(all, s.GetModelName())
	}
	return all
}

// writtenSteps are the models that the configuration of a name on disk needs.
func (r *Repository) writtenSteps(name string) []string {
	var all []string
	for _, f := range r.locate(name) {
		if c, err := modelconfig.ReadFile(r.configPath(f.dir)); err == nil {
			all = append(all, stepNames(c)...)
		}
	}
	return all
}

// relatives are the models that the graph connects with a name.
func (r *Repository) relatives(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for id, n := range r.graph {
		for _, p := range n.model.parts {
			switch {
			case id.name == name:
				all = append(all, p.name)
			case p.name == name:
				all = append(all, id.name)
			}
		}
	}
	return all
}
