// A plan says which models and versions an operation loads, keeps or retires (docs/adr/0012-models.md has
// the tables). It follows from the desired state, the actual state and what was found in the store.

package state

import (
	"fmt"
	"slices"
	"strings"

	"triton/pkg/modelconfig"
	"triton/server/repository/layout"
	"triton/server/store"
)

// Verb is the kind of an action.
type Verb uint8

// The verbs.
const (
	VerbReport           Verb = iota // model: log why it cannot be loaded; its serving versions continue
	VerbRemove                       // model: take it out of service
	VerbLoad                         // model: load its content; version: load its files
	VerbReplaceInstances             // version: make new instances of the loaded model
	VerbKeep                         // version: nothing was changed
	VerbRetire                       // version: take it out of service once the others serve
)

// Outcome is the result of the last load of a model. It is not changed: a later one replaces it.
type Outcome struct {
	Location string      // of the content that serves
	Stamp    store.Stamp // of that content; nil: the next operation loads it in any case
	Override *string     // of its configuration
	Err      error       // why the last load failed; nil: it succeeded
}

// Failed returns the outcome after a load that failed: what served before serves on, except an ensemble,
// which is out of service, so that the next operation loads it although its files are the same.
func (o *Outcome) Failed(err error, ensemble bool) *Outcome {
	now := &Outcome{Err: err}
	if o != nil {
		now.Location, now.Stamp, now.Override = o.Location, o.Stamp, o.Override
	}
	if ensemble {
		now.Stamp = nil
	}
	return now
}

// Forgiven returns the outcome without its error.
func (o *Outcome) Forgiven() *Outcome {
	return &Outcome{Location: o.Location, Stamp: o.Stamp, Override: o.Override}
}

// Finding is what an operation found in the store about a desired model.
type Finding struct {
	ID store.ID
	By Requester

	Named     bool // a client requested it by name
	Listed    bool // the store has it
	Ambiguous bool // the store has it several times
	Location  string
	Stamp     store.Stamp // of what the operation may load of it
	Last      *Outcome    // nil: it was never loaded
	Broken    bool        // it serves, and a version has lost all its instances
	Override  *string     // a client's configuration; nil: none
	Again     bool        // without a client's configuration, although the files are the same

	Unsettled   bool // it does not stand still
	SeenBefore  bool // an earlier poll, or the start, saw the stamp stand still, and this poll does not retry
	Unloaded    bool // it no longer serves: only a request loads it
	Reconnected bool // a step of an ensemble means another model than when it was read

	Content *layout.Content // if the model must be loaded and could be read
	Err     error           // why it could not be read
	ListErr error           // why the listing may be incomplete; nil: the store does not have the model
}

// Action is one action on a model.
type Action struct {
	Do      Verb
	ID      store.ID
	Text    string          // of a report
	Err     error           // the cause of a report
	Content *layout.Content // of a load
	After   []store.ID      // the loads that a load waits for
}

// Details returns the attributes of a report in the log.
func (a *Action) Details() []any {
	if all := modelconfig.Details(a.Err); all != nil || a.Err == nil || strings.HasSuffix(a.Text, a.Err.Error()) {
		return all
	}
	return []any{"error", a.Err}
}

// PlanModels returns the actions on the models that an operation found and on those that it
// removed from the desired state, in the order of the log. Loads run at the same time,
// except that ensembles wait for their composing models.
func PlanModels(s *Desired, found []Finding, removed []store.ID) []Action {
	var reports, rest []Action
	loads := map[store.ID]bool{}
	for _, f := range found {
		loads[f.ID] = f.Err == nil && f.Content != nil
	}
	for _, id := range removed {
		rest = append(rest, Action{Do: VerbRemove, ID: id})
	}
	for _, f := range found {
		switch {
		case f.Err != nil:
			reports = append(reports, Action{ID: f.ID, Text: fmt.Sprintf("Poll failed for model directory '%s': %s", f.ID, f.Err), Err: f.Err})
		case f.Content != nil:
			a := Action{Do: VerbLoad, ID: f.ID, Content: f.Content}
			if s.Cycle(f.ID) == nil {
				for _, p := range f.Content.ComposingModels {
					if loads[p] && !slices.Contains(a.After, p) {
						a.After = append(a.After, p)
					}
				}
			}
			rest = append(rest, a)
		case f.Ambiguous:
			reports = append(reports, Action{ID: f.ID, Text: fmt.Sprintf("failed to poll model '%s': not unique across all model repositories", f.ID.Name)})
			if !f.Named { // a client's model is also reported as missing, as by Triton
				continue
			}
			fallthrough
		case !f.Listed:
			reports = append(reports, Action{ID: f.ID, Text: fmt.Sprintf("failed to poll model '%s': model not found in any model repository.", f.ID.Name), Err: f.ListErr})
		}
	}
	return append(reports, rest...)
}
