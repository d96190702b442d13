package repository

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"triton/pkg/inferencepb"
	"triton/server/model"
	"triton/server/repository/state"
	"triton/server/store"
)

// annotate adds to the index entries of a model why its configuration was refused, and in modes with polls
// also what a poll waits for, or why the last load failed, and which versions serve meanwhile. In the other
// modes the client of a load has its error.
func (r *Repository) annotate(id store.ID, m *state.Model, entries []*inferencepb.RepositoryIndexResponse_ModelIndex) {
	if len(entries) == 0 {
		return
	}
	at := entries[len(entries)-1]
	for _, e := range slices.Backward(entries) {
		if e.State == string(state.VersionReady) {
			at = e
			break
		}
	}
	for _, note := range r.notes(id, m) {
		if at.Reason != "" {
			at.Reason += "; "
		}
		at.Reason += note
	}
}

// notes returns what the index says about a model besides the states of its versions.
func (r *Repository) notes(id store.ID, m *state.Model) (all []string) {
	polls := r.hasPolls()
	if polls {
		all = r.progress.slow(id)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ready, last := m.ReadyVersions(), r.outcomes[id]
	switch refused := r.refused[id]; {
	case refused != nil && len(ready) == 0:
		all = append(all, "the last load was refused: "+reasonOf(refused))
	case refused != nil:
		all = append(all, reasonOf(refused), serving(ready, nil))
	case polls && len(ready) > 0 && last != nil && last.Err != nil:
		all = append(all, failureNotes(last.Err, ready)...)
	}
	if !polls {
		return all
	}
	if w := r.waits[id]; w != nil {
		all = append(all, w.Text(time.Now()))
	}
	return all
}

// failureNotes describes a load that failed while versions serve.
func failureNotes(err error, ready []*model.LoadedVersion) (all []string) {
	var e *loadError
	if !errors.As(err, &e) || e.failed == nil {
		return []string{"the last load failed: " + reasonOf(err), serving(ready, nil)}
	}
	for _, f := range e.failed {
		all = append(all, fmt.Sprintf("version %d failed: %s", f.number, f.reason))
	}
	return append(all, serving(ready, e.failed))
}

// serving names the versions that serve. If one of them failed to load again, they are as before.
func serving(ready []*model.LoadedVersion, failed []failedVersion) string {
	var numbers []string
	before := ""
	for _, v := range ready {
		numbers = append(numbers, v.Version())
		if slices.ContainsFunc(failed, func(f failedVersion) bool { return f.number == v.Number() }) {
			before = " as before"
		}
	}
	if len(numbers) == 1 {
		return fmt.Sprintf("version %s serves%s", numbers[0], before)
	}
	return fmt.Sprintf("versions %s serve%s", strings.Join(numbers, ", "), before)
}
