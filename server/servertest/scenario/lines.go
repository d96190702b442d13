package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"triton/pkg/inferencepb"
)

// Record is the observations of one run of a scenario.
type Record struct {
	Runs    []Run
	Replies []Reply
	Stats   []string
}

// Run is one batch. At counts from the start of the scenario.
type Run struct {
	At      time.Duration
	Model   string
	Members []string
	// Unordered says that other instances may have run batches at the same time, so that the
	// order does not matter.
	Unordered bool
}

// Reply is one response, or the end of the responses without data.
type Reply struct {
	At   time.Duration
	Name string // of the request
	Text string
}

// onGrid returns a time in milliseconds, rounded down to Grid.
func onGrid(at time.Duration) int64 { return ((at + early) / Grid * Grid).Milliseconds() }

// Lines writes a record: batches and responses by time, then the statistics.
func (r *Record) Lines() []string {
	type line struct {
		at   int64
		rank string
		text string
	}
	var all []line
	slices.SortStableFunc(r.Runs, func(a, b Run) int { return cmp.Compare(a.At, b.At) })
	for _, b := range r.Runs {
		l := line{at: onGrid(b.At), rank: "1 " + b.Model}
		l.text = "run " + b.Model + " " + strings.Join(b.Members, " ")
		if b.Unordered {
			l.rank += " " + l.text
		}
		all = append(all, l)
	}
	for _, a := range r.Replies {
		all = append(all, line{onGrid(a.At), "2 " + a.Name, a.Name + " " + a.Text})
	}
	slices.SortStableFunc(all, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank))
	})
	var out []string
	for _, l := range all {
		out = append(out, fmt.Sprintf("%d %s", l.at, strings.ReplaceAll(l.text, "\n", `\n`)))
	}
	return append(out, r.Stats...)
}

// Values writes the elements of a tensor; "7*2" is 7 twice.
func Values(name string, all []int32) string {
	var parts []string
	for i := 0; i < len(all); {
		n := i
		for n < len(all) && all[n] == all[i] {
			n++
		}
		part := fmt.Sprint(all[i])
		if n-i > 1 {
			part += fmt.Sprintf("*%d", n-i)
		}
		parts = append(parts, part)
		i = n
	}
	return name + "=" + strings.Join(parts, ",")
}

// FormatStats writes the statistics of a model. It leaves out "queue" and "compute" if their
// counts equal the number of successful requests, and the statistics of single responses,
// which the Python backend does not report. reasons are the failures by reason.
func FormatStats(m *Model, s *inferencepb.ModelStatistics, reasons map[string]uint64) string {
	c := s.GetInferenceStats()
	ok, hit, miss := c.GetSuccess().GetCount(), c.GetCacheHit().GetCount(), c.GetCacheMiss().GetCount()
	var b strings.Builder
	fmt.Fprintf(&b, "stats %s infer=%d exec=%d ok=%d fail=%d", m.Name, s.GetInferenceCount(), s.GetExecutionCount(), ok, c.GetFail().GetCount())
	optional := func(key string, n, usual uint64) {
		if n != usual {
			fmt.Fprintf(&b, " %s=%d", key, n)
		}
	}
	optional("queue", c.GetQueue().GetCount(), ok)
	optional("compute", c.GetComputeInfer().GetCount(), ok-hit)
	optional("hit", hit, 0)
	optional("miss", miss, 0)
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		optional(why, reasons[why], 0)
	}
	sizes := slices.Clone(s.GetBatchStats())
	slices.SortFunc(sizes, func(a, b *inferencepb.InferBatchStatistics) int {
		return cmp.Compare(a.GetBatchSize(), b.GetBatchSize())
	})
	for i, size := range sizes {
		b.WriteString([]string{" sizes=", ","}[min(i, 1)])
		fmt.Fprintf(&b, "%d:%d", size.GetBatchSize(), size.GetComputeInfer().GetCount())
	}
	if _, times := m.Options["times"]; times {
		for _, d := range []struct {
			name string
			of   *inferencepb.StatisticDuration
		}{{"total", c.GetSuccess()}, {"failed", c.GetFail()}, {"queue", c.GetQueue()}, {"infer", c.GetComputeInfer()}} {
			// A sum of a few durations, each up to a Step too short or somewhat too long.
			if ms := onGrid(time.Duration(d.of.GetNs()) + 2*Step); ms != 0 {
				fmt.Fprintf(&b, " %s=%dms", d.name, ms)
			}
		}
	}
	return b.String()
}

// NotLoaded returns why a model does not serve; empty if it serves.
func NotLoaded(index *inferencepb.RepositoryIndexResponse, model string) string {
	for _, m := range index.GetModels() {
		switch {
		case m.GetName() != model:
		case m.GetState() == "READY":
			return ""
		case m.GetState() != "":
			return m.GetState() + " " + m.GetReason()
		}
	}
	return "not tried"
}
