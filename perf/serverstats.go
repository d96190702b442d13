package perf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"

	"triton/pkg/client"
)

// snapshot holds the server's counters at one moment, by name and version.
type snapshot map[modelID]*client.ModelStatistics

// serverSnapshot reads the counters of the model, or of all models for an
// ensemble. It returns nil if the server has no statistics.
func (r *run) serverSnapshot(ctx context.Context) (snapshot, error) {
	if !r.settings.ServerStats {
		return nil, nil
	}
	name, version := r.model.signature.Model, r.settings.Version
	if r.model.ensemble {
		name, version = "", ""
	}
	var list []*client.ModelStatistics
	err := r.ask(ctx, func(ctx context.Context) (err error) {
		list, err = r.server.Statistics(ctx, name, version)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("server statistics: %w", err)
	}
	s := make(snapshot, len(list))
	for _, m := range list {
		s[modelID{m.GetName(), m.GetVersion()}] = m
	}
	return s, nil
}

// serverDelta returns the difference between two snapshots.
func (r *run) serverDelta(before, after snapshot) (*ServerStats, error) {
	return r.modelDelta(modelID{r.model.signature.Model, r.settings.Version}, before, after)
}

func (r *run) modelDelta(self modelID, before, after snapshot) (*ServerStats, error) {
	// A hit of its own cache, or of that of the ensemble that calls it, leaves a model idle.
	id, err := r.executedVersion(self, before, after, r.settings.TopCache || r.model.cached[self.name])
	if err != nil {
		return nil, err
	}
	s := &ServerStats{Model: self.name, Version: id.version}
	if end := after[id]; end != nil {
		if err := s.setDeltas(before[id], end); err != nil {
			return nil, err
		}
	} else if !r.settings.TopCache {
		return nil, errors.New("missing statistics for requested model")
	}
	s.Cache = r.model.cached[self.name]
	for _, child := range r.model.composing[self] {
		stats, err := r.modelDelta(child, before, after)
		if err != nil {
			return nil, err
		}
		s.Composing = append(s.Composing, *stats)
	}
	s.Ensemble = len(s.Composing) > 0
	sort.Slice(s.Composing, func(i, j int) bool {
		a, b := &s.Composing[i], &s.Composing[j]
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Version, b.Version)) < 0
	})
	return s, nil
}

// executedVersion returns the version that executed the requests: the requested one, or the
// highest one whose queue count grew. With cached a version may have answered all requests
// from the response cache, and any version is returned.
func (r *run) executedVersion(self modelID, before, after snapshot, cached bool) (modelID, error) {
	if self.version != "" {
		if _, ok := after[self]; !ok {
			return self, errVersion
		}
		return self, nil
	}
	best, found, several := modelID{name: self.name}, int64(-1), false
	for id, m := range after {
		if id.name != self.name {
			continue
		}
		if m.GetInferenceStats().GetQueue().GetCount() <= before[id].GetInferenceStats().GetQueue().GetCount() {
			continue
		}
		v, err := strconv.ParseInt(id.version, 10, 64)
		if err != nil {
			continue
		}
		several = several || found >= 0
		if v > found {
			best, found = id, v
		}
	}
	if several {
		r.notice(fmt.Sprintf("WARNING: Multiple versions of model %s are loaded in the triton server, and the version to use was unspecified. The stats for that model may be inaccurate.", self.name))
	}
	if found < 0 && !cached {
		return best, ErrNoExecutions
	}
	if found < 0 {
		for id := range after { // a cached model answers without queueing
			if id.name == self.name {
				best = id
			}
		}
	}
	return best, nil
}

// ErrNoExecutions reports a window in which the server counted no request of the model, although
// the client has answers: on a machine that stalls, the server may have executed them before the
// counters of the window's begin were read. The text is perf_analyzer's.
var ErrNoExecutions = errors.New("failed to find the requested model version")

// errVersion reports that the server has no statistics of the requested version. It has perf_analyzer's
// text too, but another measurement would not help: it is not ErrNoExecutions.
var errVersion = errors.New(ErrNoExecutions.Error())

func (s *ServerStats) setDeltas(before, after *client.ModelStatistics) error {
	s.Inferences = after.GetInferenceCount() - before.GetInferenceCount()
	s.Executions = after.GetExecutionCount() - before.GetExecutionCount()
	a, b := after.GetInferenceStats(), before.GetInferenceStats()
	s.Success = delta(a.GetSuccess(), b.GetSuccess())
	s.Queue = delta(a.GetQueue(), b.GetQueue())
	s.ComputeInput = delta(a.GetComputeInput(), b.GetComputeInput())
	s.ComputeInfer = delta(a.GetComputeInfer(), b.GetComputeInfer())
	s.ComputeOutput = delta(a.GetComputeOutput(), b.GetComputeOutput())
	s.CacheHit = delta(a.GetCacheHit(), b.GetCacheHit())
	s.CacheMiss = delta(a.GetCacheMiss(), b.GetCacheMiss())
	s.Batches = batchDeltas(before.GetBatchStats(), after.GetBatchStats())
	if s.ComputeInput.Count != s.ComputeInfer.Count || s.ComputeInfer.Count != s.ComputeOutput.Count {
		return errors.New("Server side statistics compute counts must be the same.")
	}
	return nil
}

// batchDeltas returns the executions between two lists of batch statistics.
func batchDeltas(before, after []*client.BatchStatistics) []BatchStats {
	old := make(map[uint64]*client.BatchStatistics, len(before))
	for _, b := range before {
		old[b.GetBatchSize()] = b
	}
	var all []BatchStats
	for _, a := range after {
		b := old[a.GetBatchSize()]
		s := BatchStats{
			Size:          a.GetBatchSize(),
			ComputeInput:  delta(a.GetComputeInput(), b.GetComputeInput()),
			ComputeInfer:  delta(a.GetComputeInfer(), b.GetComputeInfer()),
			ComputeOutput: delta(a.GetComputeOutput(), b.GetComputeOutput()),
		}
		if s.Executions = s.ComputeInfer.Count; s.Executions > 0 {
			all = append(all, s)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Size < all[j].Size })
	return all
}

// addBatches adds the executions of one more window to sorted lists.
func addBatches(sum, w []BatchStats) []BatchStats {
	for _, b := range w {
		i, found := slices.BinarySearchFunc(sum, b.Size, func(s BatchStats, size uint64) int { return cmp.Compare(s.Size, size) })
		if !found {
			sum = slices.Insert(sum, i, b)
			continue
		}
		s := &sum[i]
		s.Executions += b.Executions
		s.ComputeInput.add(b.ComputeInput)
		s.ComputeInfer.add(b.ComputeInfer)
		s.ComputeOutput.add(b.ComputeOutput)
	}
	return sum
}

func (d *Statistic) add(more Statistic) {
	d.Count += more.Count
	d.Ns += more.Ns
}

type counter interface {
	GetCount() uint64
	GetNs() uint64
}

func delta(a, b counter) Statistic {
	return Statistic{a.GetCount() - b.GetCount(), a.GetNs() - b.GetNs()}
}

// addServer adds the counters of one more window.
func addServer(sum, w *ServerStats) *ServerStats {
	if sum == nil {
		c := *w
		c.Composing, c.Batches = slices.Clone(w.Composing), slices.Clone(w.Batches)
		for i := range c.Composing {
			c.Composing[i] = *addServer(nil, &w.Composing[i])
		}
		return &c
	}
	sum.Version = w.Version
	sum.Inferences += w.Inferences
	sum.Executions += w.Executions
	for _, d := range [][2]*Statistic{
		{&sum.Success, &w.Success},
		{&sum.Queue, &w.Queue},
		{&sum.ComputeInput, &w.ComputeInput},
		{&sum.ComputeInfer, &w.ComputeInfer},
		{&sum.ComputeOutput, &w.ComputeOutput},
		{&sum.CacheHit, &w.CacheHit},
		{&sum.CacheMiss, &w.CacheMiss},
	} {
		d[0].add(*d[1])
	}
	sum.Batches = addBatches(sum.Batches, w.Batches)
	for i := range w.Composing {
		for k := range sum.Composing {
			if sum.Composing[k].Model == w.Composing[i].Model && sum.Composing[k].Version == w.Composing[i].Version {
				sum.Composing[k] = *addServer(&sum.Composing[k], &w.Composing[i])
			}
		}
	}
	return sum
}
