package repository

import (
	"fmt"
	"sort"

	"triton/server/readiness"
	"triton/server/repository/state"
	"triton/server/store"
)

// phaseNames are the phases in reports.
var phaseNames = map[phase]string{
	starting: "starting", ready: "serving", failed: "failed", draining: "draining", finishing: "draining", exiting: "exiting",
}

// SetReadiness replaces the rule that decides whether the server is ready.
func (r *Repository) SetReadiness(p readiness.Policy) {
	if p.Mode == readiness.Triton && !r.opts.StrictReadiness {
		p.Mode = readiness.Live
	}
	r.policy.Store(&p)
}

// Policy returns the rule that decides whether the server is ready.
func (r *Repository) Policy() readiness.Policy { return *r.policy.Load() }

// Ready reports whether the server takes inference requests and its models meet the policy.
func (r *Repository) Ready() bool {
	if r.phase.Load() != ready {
		return false
	}
	p := r.policy.Load()
	switch {
	case p.Mode == readiness.Live:
		return true
	case p.Mode == readiness.Triton && r.demand == nil:
		return r.actual.AllReady()
	default:
		// No slow check when a model does not work.
		return len(r.reasons(p, r.conditions(false))) == 0 && len(r.reasons(p, r.conditions(true))) == 0
	}
}

// reasons returns why the server is not ready with these conditions.
func (r *Repository) reasons(p *readiness.Policy, all []readiness.Version) []string {
	if r.demand != nil {
		return r.reasonsOnDemand(p, all)
	}
	return p.Reasons(all)
}

// BeginDrain makes the server unready. Everything is still accepted.
func (r *Repository) BeginDrain() {
	r.phase.CompareAndSwap(ready, draining)
	r.clientLoads.cancelAll(errExiting)
}

// Readiness returns whether the server is ready, and why not.
func (r *Repository) Readiness() readiness.Report {
	p, phase := r.policy.Load(), r.phase.Load()
	report := readiness.Report{
		Live: answers(phase), Phase: phaseNames[phase], Policy: p.String(),
		Models: r.conditions(true), Start: r.progress.report(r.activity),
	}
	report.Start.Models, report.Start.Loaded = r.countModels()
	switch phase {
	case starting:
		report.Reasons = []string{fmt.Sprintf("the server is starting: %d of %d models are loaded", report.Start.Loaded, report.Start.Models)}
	case failed:
		if err := r.Failure(); err != nil {
			report.Reasons = []string{"the server could not start: " + reasonOf(err)}
		}
	case ready:
		report.Reasons = r.reasons(p, report.Models)
	default:
		report.Reasons = []string{"the server is shutting down"}
	}
	report.Ready = phase == ready && len(report.Reasons) == 0
	return report
}

// countModels returns the number of models to serve, and how many of them serve.
func (r *Repository) countModels() (all, loaded int) {
	now := r.actual.Snapshot()
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.desired.IDs() {
		if now.Model(id).Newest() != nil {
			loaded++
		}
	}
	return r.desired.Len(), loaded
}

// conditions returns the conditions of all versions, and of the models that have none because
// their configuration was refused, by model and number. With checks, instances that can check
// themselves do so, which may be slow.
func (r *Repository) conditions(checks bool) []readiness.Version {
	all := r.actual.Conditions(checks)
	now := r.actual.Snapshot()
	r.mu.Lock()
	for id, err := range r.refused {
		if now.Model(id) == nil {
			all = append(all, readiness.Version{
				Name: id.Name, Namespace: id.Namespace, State: string(state.VersionUnavailable), Desired: true, Refused: true, Reason: reasonOf(err),
			})
		}
	}
	r.mu.Unlock()
	sort.SliceStable(all, func(i, j int) bool {
		a, b := &all[i], &all[j]
		return store.Compare(store.ID{Namespace: a.Namespace, Name: a.Name}, store.ID{Namespace: b.Namespace, Name: b.Name}) < 0
	})
	return all
}
