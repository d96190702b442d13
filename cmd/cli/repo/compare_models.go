package repo

import (
	"slices"
	"strconv"
	"strings"

	"triton/pkg/inferencepb"
)

// comparedModel is a model of a repository as far as it is compared.
type comparedModel struct {
	Name     string
	Config   *inferencepb.ModelConfig
	Versions []int64 // nil: they are not known
}

// compareModels returns the changes from the models of one repository to those of another. Models are
// compared by their names, except for a single model on both sides.
func compareModels(from, to []comparedModel) []configChange {
	if len(from) == 1 && len(to) == 1 {
		return model(from[0], to[0])
	}
	var names []string
	for _, m := range slices.Concat(from, to) {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	var changes []configChange
	for _, name := range slices.Compact(names) {
		a, before := find(from, name)
		b, after := find(to, name)
		switch {
		case before && after:
			changes = append(changes, model(a, b)...)
		case before:
			changes = append(changes, configChange{Model: name, Old: "model"})
		default:
			changes = append(changes, configChange{Model: name, New: "model"})
		}
	}
	return changes
}

func find(models []comparedModel, name string) (comparedModel, bool) {
	i := slices.IndexFunc(models, func(m comparedModel) bool { return m.Name == name })
	if i < 0 {
		return comparedModel{}, false
	}
	return models[i], true
}

func model(from, to comparedModel) []configChange {
	changes := compareConfigs(from.Config, to.Config)
	if old, now := listed(from.Versions), listed(to.Versions); old != now && from.Versions != nil && to.Versions != nil {
		changes = append(changes, configChange{Path: "versions", Old: old, New: now})
	}
	for i := range changes {
		changes[i].Model = to.Name
	}
	return changes
}

func listed(versions []int64) string {
	if len(versions) == 0 {
		return ""
	}
	words := make([]string, len(versions))
	for i, v := range slices.Sorted(slices.Values(versions)) {
		words[i] = strconv.FormatInt(v, 10)
	}
	return strings.Join(words, ", ")
}
