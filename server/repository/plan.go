package repository

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/server/model"
	"triton/server/repository/layout"
	"triton/server/store"
)

// outcome is what is known of the last load of a model. It is not changed.
type outcome struct {
	location string      // of the content that serves
	stamp    store.Stamp // nil: load in any case
	override *string     // of its configuration
	err      error       // why the last load failed; nil: it did not
}

// finding is a wanted model as an operation finds it.
type finding struct {
	id store.ID
	by asker

	named     bool // a client asked for it by name
	listed    bool // the store has it
	ambiguous bool // several times
	location  string
	stamp     store.Stamp
	have      *outcome // of the last load; nil: there was none
	broken    bool     // it serves, and has lost its instances
	override  *string  // a client's configuration; nil: none

	content *layout.Content // when it is due and could be read
	err     error           // when it could not
	lost    error           // why it may not be listed; nil: the store does not have it
}

// due reports whether the model is to be loaded, and with which configuration in
// the place of the store's.
func (f *finding) due() (override *string, due bool) {
	switch same := f.have != nil && f.have.location == f.location && f.have.stamp.Same(f.stamp); {
	case f.override != nil || !same:
		return f.override, true
	case f.broken:
		return f.have.override, true
	}
	return nil, false
}

// verb is what is done about a model.
type verb uint8

const (
	report   verb = iota // why it cannot be loaded; what serves goes on
	withdraw             // take it out of service
	load                 // bring what serves to its content
)

// action is what is done about one model.
type action struct {
	do      verb
	id      store.ID
	text    string          // of a report
	err     error           // its cause, and where in a configuration it is
	content *layout.Content // of a load
	after   []store.ID      // loads that come before it
}

// details are the attributes of a report in the log.
func (a *action) details() []any {
	if all := modelconfig.Details(a.err); all != nil || a.err == nil || strings.HasSuffix(a.text, a.err.Error()) {
		return all
	}
	return []any{"error", a.err}
}

// plan decides what is done: about the wanted models that an operation found, and
// those that are wanted no more. The order is that of the log; loads run at the
// same time, but for the parts of ensembles.
func plan(w wanted, found []finding, gone []store.ID) []action {
	var reports, rest []action
	loads := map[store.ID]bool{}
	for _, f := range found {
		loads[f.id] = f.err == nil && f.content != nil
	}
	for _, id := range gone {
		rest = append(rest, action{do: withdraw, id: id})
	}
	for _, f := range found {
		switch {
		case f.err != nil:
			reports = append(reports, action{id: f.id, text: fmt.Sprintf("Poll failed for model directory '%s': %s", f.id, f.err), err: f.err})
		case f.content != nil:
			a := action{do: load, id: f.id, content: f.content}
			if w.circle(f.id) == nil {
				for _, p := range f.content.Parts {
					if loads[p] && !slices.Contains(a.after, p) {
						a.after = append(a.after, p)
					}
				}
			}
			rest = append(rest, a)
		case f.ambiguous:
			reports = append(reports, action{id: f.id, text: fmt.Sprintf("failed to poll model '%s': not unique across all model repositories", f.id.Name)})
			if !f.named { // else Triton goes on as if there was none
				continue
			}
			fallthrough
		case !f.listed:
			reports = append(reports, action{id: f.id, text: fmt.Sprintf("failed to poll model '%s': model not found in any model repository.", f.id.Name), err: f.lost})
		}
	}
	return append(reports, rest...)
}

// serving is a version that is ready.
type serving struct {
	number int64
	from   *model.Provenance
	broken bool // it has lost its instances
}

// change is what a load does about one version.
type change struct {
	layout.Version
	do deed
}

type deed uint8

const (
	loadAnew deed = iota
	regroup       // the same engine with other instances
	keep          // nothing was changed
	retire        // once the others serve
)

// steps decides what a load of some content does about each version: those that the
// policy picks, then those that serve and are picked no more.
func steps(c *layout.Content, ready []serving) []change {
	var all []change
	for _, n := range c.Versions {
		s := change{Version: n}
		if i := slices.IndexFunc(ready, func(v serving) bool { return v.number == n.Number }); i >= 0 {
			s.do = against(c, &ready[i], n)
		}
		all = append(all, s)
	}
	for _, v := range ready {
		if !slices.ContainsFunc(c.Versions, func(n layout.Version) bool { return n.Number == v.number }) {
			all = append(all, change{layout.Version{Number: v.number}, retire})
		}
	}
	return all
}

// against compares with a version that serves. The parts of an ensemble may be
// others each time.
func against(c *layout.Content, v *serving, n layout.Version) deed {
	if c.Ensemble() || v.broken || v.from.Origin != c.Origin(n) || !v.from.Stamp.SameFor(c.Stamp, n.Name, c.ConfigEntry) {
		return loadAnew
	}
	before, now := proto.CloneOf(v.from.Config), proto.CloneOf(c.Config.ModelConfig)
	if proto.Equal(before, now) {
		return keep
	}
	for _, cfg := range []*inferencepb.ModelConfig{before, now} {
		cfg.InstanceGroup, cfg.VersionPolicy = nil, nil
	}
	if proto.Equal(before, now) {
		return regroup
	}
	return loadAnew
}
