package search

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"triton/analyzer/trial"
)

// Names of the fields that searches vary.
const (
	maxBatchSize    = "max_batch_size"
	instanceGroup   = "instance_group"
	dynamicBatching = "dynamic_batching"
	queueDelay      = "max_queue_delay_microseconds"
)

// Patch returns the change of a configuration to a number of instances and a largest batch. It
// enables the dynamic batcher where the model can have one and the base does not configure it.
// The other fields are those of base. maxBatch is used for models that batch.
func (m Model) Patch(base trial.Patch, instances, maxBatch int) trial.Patch {
	p := maps.Clone(base)
	if p == nil {
		p = trial.Patch{}
	}
	p[instanceGroup] = []any{map[string]any{"count": instances, "kind": m.kind(base)}}
	if m.Batching() {
		p[maxBatchSize] = maxBatch
		if _, given := p[dynamicBatching]; !given && !m.Sequence {
			p[dynamicBatching] = map[string]any{}
		}
	}
	return p
}

// withDelay returns the patch with a queue delay of the dynamic batcher.
func withDelay(p trial.Patch, microseconds int) trial.Patch {
	return mergePatches(p, trial.Patch{dynamicBatching: map[string]any{queueDelay: microseconds}})
}

// kind returns the kind of the instances: that of the patch, or of the first listed patch, or the
// default.
func (m Model) kind(base trial.Patch) string {
	list := groups(base)
	if len(m.Patches) > 0 {
		list = append(list, groups(m.Patches[0])...)
	}
	for _, g := range list {
		if k, ok := g["kind"].(string); ok && (k == "KIND_CPU" || k == "KIND_GPU") {
			return k
		}
	}
	if m.CPUOnly {
		return "KIND_CPU"
	}
	return "KIND_GPU"
}

// groups returns the instance groups of a patch.
func groups(p trial.Patch) []map[string]any {
	var out []map[string]any
	switch list := p[instanceGroup].(type) {
	case []any:
		for _, g := range list {
			if g, ok := g.(map[string]any); ok {
				out = append(out, g)
			}
		}
	case []map[string]any:
		out = list
	}
	return out
}

// number reads a number of a patch, which may come from JSON, YAML or from code.
func number(v any) (int, bool) {
	switch n := v.(type) {
	case int:
		return n, true
	case int32:
		return int(n), true
	case int64:
		return int(n), true
	case uint32:
		return int(n), true
	case uint64:
		return int(min(n, math.MaxInt32)), true
	case float64:
		return int(n), true
	case json.Number:
		i, err := n.Int64()
		return int(i), err == nil
	}
	return 0, false
}

// Shape returns the number of instances and the largest batch of the model with a patch.
func (m Model) Shape(p trial.Patch) (instances, maxBatch int) {
	instances, maxBatch = max(m.Instances, 1), m.MaxBatch
	if n, ok := number(p[maxBatchSize]); ok {
		maxBatch = n
	}
	if list := groups(p); len(list) > 0 {
		instances = 0
		for _, g := range list {
			n, ok := number(g["count"])
			if !ok || n < 1 {
				n = 1
			}
			instances += n
		}
	}
	return instances, maxBatch
}

// Counts returns the instance counts of the listed patches in the user's order.
func (m Model) Counts() []int {
	return m.listed(func(p trial.Patch) (int, bool) {
		list := groups(p)
		if len(list) == 0 {
			return 0, false
		}
		return number(list[0]["count"])
	})
}

// BatchSizes returns the largest batches of the listed patches in the user's order.
func (m Model) BatchSizes() []int {
	return m.listed(func(p trial.Patch) (int, bool) { return number(p[maxBatchSize]) })
}

// Delays returns the queue delays of the listed patches in the user's order.
func (m Model) Delays() []int {
	return m.listed(func(p trial.Patch) (int, bool) {
		batcher, _ := p[dynamicBatching].(map[string]any)
		return number(batcher[queueDelay])
	})
}

func (m Model) listed(read func(trial.Patch) (int, bool)) []int {
	var list []int
	for _, p := range m.Patches {
		if n, ok := read(p); ok && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

// rest returns a patch without the fields that searches vary.
func rest(p trial.Patch, delays bool) trial.Patch {
	p = maps.Clone(p)
	delete(p, maxBatchSize)
	delete(p, instanceGroup)
	if batcher, ok := p[dynamicBatching].(map[string]any); ok && delays {
		batcher = maps.Clone(batcher)
		delete(batcher, queueDelay)
		p[dynamicBatching] = batcher
	}
	return p
}

// withBatch returns the patch with a largest batch.
func withBatch(p trial.Patch, n int) trial.Patch {
	return mergePatches(p, trial.Patch{maxBatchSize: n})
}

// Fixed returns the fields of the listed patches that a search over instances and batch sizes, and
// over queue delays if asked for, leaves alone. It is an error if the user lists several values
// for one of them.
func (m Model) Fixed(delays bool) (trial.Patch, error) {
	if len(m.Patches) == 0 {
		return trial.Patch{}, nil
	}
	first := rest(m.Patches[0], delays)
	for _, p := range m.Patches[1:] {
		if encode(rest(p, delays)) != encode(first) {
			return nil, fmt.Errorf("model %q lists several values of a parameter other than the instance count and max_batch_size, which this search mode cannot vary: give one value, or use brute", m.Name)
		}
	}
	return first, nil
}

// Walks groups the listed patches into walks over the largest batch, one for each combination of
// everything else, both in the user's order.
func (m Model) Walks() [][]trial.Patch {
	var walks [][]trial.Patch
	index := map[string]int{}
	for _, p := range m.Patches {
		others := maps.Clone(p)
		delete(others, maxBatchSize)
		key := encode(others)
		i, found := index[key]
		if !found {
			i = len(walks)
			index[key] = i
			walks = append(walks, nil)
		}
		walks[i] = append(walks[i], p)
	}
	return walks
}

// mergePatches returns a patch with the fields of another one. Fields of nested messages are merged, all
// others replaced.
func mergePatches(p, over trial.Patch) trial.Patch { return mergeMaps(p, over) }

func mergeMaps(p, over map[string]any) map[string]any {
	p = maps.Clone(p)
	if p == nil {
		p = map[string]any{}
	}
	for k, v := range over {
		old, isMap := p[k].(map[string]any)
		if sub, ok := v.(map[string]any); ok && isMap {
			v = mergeMaps(old, sub)
		}
		p[k] = v
	}
	return p
}
