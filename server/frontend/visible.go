package frontend

import "triton/pkg/inferencepb"

// FilterIndex returns the models of a list that a caller may see.
func FilterIndex(list *inferencepb.RepositoryIndexResponse, may func(model, version string) bool) *inferencepb.RepositoryIndexResponse {
	seen := &inferencepb.RepositoryIndexResponse{}
	for _, m := range list.GetModels() {
		if may(m.GetName(), m.GetVersion()) {
			seen.Models = append(seen.Models, m)
		}
	}
	return seen
}

// FilterStatistics returns the statistics that a caller may see.
func FilterStatistics(all *inferencepb.ModelStatisticsResponse, may func(model, version string) bool) *inferencepb.ModelStatisticsResponse {
	seen := &inferencepb.ModelStatisticsResponse{}
	for _, s := range all.GetModelStats() {
		if may(s.GetName(), s.GetVersion()) {
			seen.ModelStats = append(seen.ModelStats, s)
		}
	}
	return seen
}
