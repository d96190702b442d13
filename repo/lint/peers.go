package lint

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/requirement"
	"triton/pkg/spelling"
	"triton/repo"
)

// peers finds the models that an ensemble may use: those of its own repository first, also when
// only the ensemble's directory is linted, then those of the other repositories of the call.
type peers struct {
	options Options
	// runs are the checks of models by repository and name, each with the configuration that a
	// server uses by default.
	runs map[string]map[string]*run
}

func (p *peers) add(r *run) {
	if p.runs[r.Repository] == nil {
		p.runs[r.Repository] = map[string]*run{}
	}
	p.runs[r.Repository][r.Name] = r
}

// find returns the check of a model that a model of a repository uses; nil: there is none.
func (p *peers) find(from *run, name string) *run {
	if r := p.runs[from.Repository][name]; r != nil {
		return r
	}
	if m, ok := from.Sibling(name); ok {
		r := &run{Model: &m, options: p.options, unlisted: true}
		r.check()
		p.add(r)
		return r
	}
	for _, repository := range slices.Sorted(maps.Keys(p.runs)) {
		if r := p.runs[repository][name]; r != nil {
			return r
		}
	}
	return nil
}

// names returns the names of the models of a repository.
func (p *peers) names(from *run) []string {
	return slices.Sorted(maps.Keys(p.runs[from.Repository]))
}

// mayComplete reports whether the backend may add inputs and outputs that are not known here.
func (r *run) mayComplete() bool {
	switch {
	case r.isEnsemble():
		return false
	case r.config.Backend == pythonBackend:
		return !r.fixed
	case r.isONNX():
		return r.graph == nil
	}
	return slices.Contains(shippedPython, r.config.Backend) || !slices.Contains(requirement.Backends(), r.config.Backend)
}

// config returns the configuration of a composing model. It returns nil when the configuration
// lists no inputs or outputs, because the backend may complete it, when it has mistakes of its own, and
// for an ensemble in a cycle.
func (p *peers) config(from *run, name string) *inferencepb.ModelConfig {
	r := p.find(from, name)
	if r == nil || r.config == nil || len(r.config.Validate()) > 0 {
		return nil
	}
	if (len(r.config.Input) == 0 || len(r.config.Output) == 0) && r.mayComplete() {
		return nil
	}
	if _, found := p.findCycle(r, name, map[string]bool{}); found {
		return nil
	}
	c := r.config.ModelConfig
	var composing []*inferencepb.ModelConfig
	for _, s := range c.GetEnsembleScheduling().GetStep() {
		composing = append(composing, p.config(r, s.ModelName))
	}
	if modelconfig.Decoupled(composing) {
		c = proto.CloneOf(c)
		c.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: true}
	}
	return c
}

// findCycle follows the steps from one model, recursively, until a step names the model to. It
// returns the ensemble with that step.
func (p *peers) findCycle(r *run, to string, seen map[string]bool) (last string, found bool) {
	if r == nil || r.config == nil || seen[r.Name] {
		return "", false
	}
	seen[r.Name] = true
	for _, s := range r.config.GetEnsembleScheduling().GetStep() {
		if s.ModelName == to {
			return r.Name, true
		}
		if last, found := p.findCycle(p.find(r, s.ModelName), to, seen); found {
			return last, true
		}
	}
	return "", false
}

// failed returns the first error of a model; empty: it loads.
func (r *run) failed() string {
	for _, f := range r.found {
		if f.Severity == repo.Error {
			return f.Msg
		}
	}
	return ""
}

// alike reports whether one name is probably a misspelling of the other: they differ in case and
// punctuation, in the order of two letters, or in one letter that was left out.
func alike(a, b string) bool {
	plain := strings.NewReplacer("_", "", "-", "", ".", "", " ", "")
	a, b = plain.Replace(strings.ToLower(a)), plain.Replace(strings.ToLower(b))
	if a == b {
		return true
	}
	if _, near := spelling.Within(1, a, []string{b}); !near || min(len(a), len(b)) < 4 {
		return false
	}
	letters := func(s string) int {
		return len(strings.Map(func(c rune) rune {
			if '0' <= c && c <= '9' {
				return -1
			}
			return c
		}, s))
	}
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return bytes.Equal(x, y) || letters(a) != letters(b)
}
