package trace

import (
	"maps"
	"slices"
	"strconv"
)

// snapshot is the settings in force. It is immutable: a change publishes another one.
type snapshot struct {
	start  values // of the command line; the global settings inherit from them
	global *sampler
	models map[string]*sampler // of models with settings of their own
}

// sampler returns the sampler of a model.
func (b *snapshot) sampler(model string) *sampler {
	if s := b.models[model]; s != nil {
		return s
	}
	return b.global
}

// enabled reports whether any request may be traced.
func (b *snapshot) enabled() bool {
	if b.global.enabled() {
		return true
	}
	for _, s := range b.models {
		if s.enabled() {
			return true
		}
	}
	return false
}

// Update changes the settings of a model, or the global settings when model is empty;
// models that inherit a changed setting change too. After an error nothing has changed.
// When it returns, the trace files contain the requests that ended under the replaced
// settings.
func (t *Tracer) Update(model string, c Change) error {
	if err := t.update(model, c); err != nil {
		return err
	}
	t.out.sync()
	return nil
}

func (t *Tracer) update(model string, c Change) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.current.Load()
	next := &snapshot{start: old.start, global: old.global, models: maps.Clone(old.models)}
	var made, replaced []*sampler
	renew := func(name string, c Change) error {
		made, replaced = next.renew(name, c, made, replaced)
		if len(made) == 0 {
			return nil
		}
		return made[len(made)-1].usable()
	}
	if err := renew(model, c); err != nil {
		return err
	}
	if model == Global {
		for _, name := range slices.Sorted(maps.Keys(old.models)) {
			if err := renew(name, Change{}); err != nil {
				return err
			}
		}
	}
	t.publish(next)
	for _, s := range made {
		t.samplers[s] = struct{}{}
	}
	for _, s := range replaced {
		s.release()
	}
	t.dropUnused()
	return nil
}

// renew replaces the sampler of one scope. It appends the new sampler to made and the old one to
// replaced. A model without settings of its own has no sampler.
func (b *snapshot) renew(model string, c Change, made, replaced []*sampler) ([]*sampler, []*sampler) {
	current, inherited := b.global, b.start
	if model != Global {
		current, inherited = b.models[model], b.global.effective()
	}
	var own field
	var held values
	if current != nil {
		own, held = current.own, current.effective()
		replaced = append(replaced, current)
	}
	v, own := c.apply(own, held, inherited)
	if model != Global && own == 0 {
		delete(b.models, model)
		return made, replaced
	}
	s := newSampler(v, own, b.global.mode, b.global.out)
	if model == Global {
		b.global = s
	} else {
		b.models[model] = s
	}
	return append(made, s), replaced
}

// Field is one setting as clients see it.
type Field struct {
	Name   string
	Values []string
}

// Settings returns the settings of a model, or the global settings when model is empty, in
// Triton's order. A name may come more than once.
func (t *Tracer) Settings(model string) []Field {
	v := t.current.Load().sampler(model).effective()
	fields := []Field{
		{LevelName, v.level.names()},
		{rateName, []string{strconv.FormatUint(uint64(v.rate), 10)}},
		{countName, []string{strconv.FormatInt(int64(v.count), 10)}},
	}
	if t.mode == Triton {
		fields = append(fields,
			Field{frequencyName, []string{strconv.FormatUint(uint64(v.frequency), 10)}},
			Field{FileName, []string{t.out.path}})
	}
	fields = append(fields, Field{"trace_mode", []string{t.mode}})
	for _, s := range t.listed {
		fields = append(fields, Field{s.Name, []string{s.Value}})
	}
	return fields
}
