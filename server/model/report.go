package model

import (
	"fmt"

	"triton/pkg/inferencepb"
	"triton/server/instance"
	"triton/server/stats"
)

// InstanceProblems describes the instances of a ready version that do not work; empty when all
// work.
func (v *LoadedVersion) InstanceProblems() string {
	if v.group == nil {
		return ""
	}
	all := v.group.Instances()
	working := 0
	var why string
	for _, i := range all {
		switch {
		case i.State == instance.Ready:
			working++
		case why == "" && i.Reason != "":
			why = fmt.Sprintf(": '%s' is %s: %s", i.Name, i.State, i.Reason)
		case why == "":
			why = fmt.Sprintf(": '%s' is %s", i.Name, i.State)
		}
	}
	if working == len(all) {
		return ""
	}
	return fmt.Sprintf("%d of %d instances work%s", working, len(all), why)
}

// Statistics returns the counters, and the memory that the backend reports.
func (v *LoadedVersion) Statistics() *inferencepb.ModelStatistics {
	s := v.stats.Snapshot()
	if v.group == nil {
		return s
	}
	for _, m := range v.group.Memory() {
		s.MemoryUsage = append(s.MemoryUsage, &inferencepb.MemoryUsage{Type: m.Kind, Id: m.ID, ByteSize: m.Bytes})
	}
	return s
}

// Served returns the version as the metrics list it.
func (v *LoadedVersion) Served() stats.Served {
	return stats.Served{Model: v.stats, Namespace: v.namespace, Tags: v.config.GetMetricTags(), LoadSeconds: v.loadSeconds, InFlight: v.InFlight()}
}
