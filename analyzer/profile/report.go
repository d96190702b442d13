package profile

import (
	"time"

	"triton/analyzer/trial"
)

// Report is what a profile run has measured. An interrupted run has the trials that were finished.
type Report struct {
	Tool    string // program and version
	Started time.Time
	// Mode is the search mode; Launch the launch mode, as the user wrote them.
	Mode   string
	Launch string
	Models []ModelReport
	// ServerOnly has the metrics of the server without models by the UUID of the device.
	ServerOnly map[string]trial.Values
	GPUs       map[string]GPU // by UUID
	// RequestRate: the trials set the rate of requests, not their concurrency.
	RequestRate bool
	// CPUOnly: no model used a GPU, so that metrics of devices say nothing.
	CPUOnly     bool
	Interrupted bool
	Warnings    []string
}

// GPU identifies a device.
type GPU struct {
	Name  string `json:"name"`
	Total uint64 `json:"total_memory"` // bytes
}

// ModelReport has the trials of one search: of one model, or of all that were profiled at the
// same time.
type ModelReport struct {
	Name    string // the names of Members, joined by commas
	Members []MemberReport
	// Results are in the order of measurement, the failures too. Ranking is the reader's.
	Results []trial.Result
	// Reason is why the search ended.
	Reason string
	// Err is why the model has no results, or no further ones; nil if its search ended.
	Err error
	// Spent is where the time of the search went.
	Spent Spent
}

// MemberReport says what was searched for.
type MemberReport struct {
	Model     string
	Composing []string // models of an ensemble or BLS model, in the order of the steps
	Ensemble  bool
	CPUOnly   bool
	trial.Goal
}

// Goals returns the goals of the members.
func (m ModelReport) Goals() []trial.Goal {
	all := make([]trial.Goal, len(m.Members))
	for i, member := range m.Members {
		all[i] = member.Goal
	}
	return all
}
