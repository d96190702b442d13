package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"triton/perf"
)

// CSVOptions choose the columns.
type CSVOptions struct {
	Verbose bool
	// Notes receives notices about single rows; may be nil.
	Notes io.Writer
}

// WriteCSV writes the levels in ascending throughput. A sweep over several batch
// sizes has one more column, "Batch Size", at the front. If a level is not stable, there is
// one more column, "Note", at the end. Repeats of a level are one row with their means. Without
// levels it writes nothing.
func WriteCSV(w io.Writer, r *perf.Report, o CSVOptions) error {
	t := newCSV(r, o)
	if len(t.levels) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString(strings.Join(t.header(), ","))
	b.WriteByte('\n')
	for _, l := range byThroughput(t.levels) {
		row := t.row(l)
		if t.notes {
			row = append(row, l.Problem())
		}
		b.WriteString(strings.Join(row, ","))
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func byThroughput(levels []perf.Level) []*perf.Level {
	rows := make([]*perf.Level, len(levels))
	for i := range levels {
		rows[i] = &levels[i]
	}
	slices.SortStableFunc(rows, func(a, b *perf.Level) int { return cmp.Compare(a.Throughput, b.Throughput) })
	return rows
}

type csvTable struct {
	report  *perf.Report
	levels  []perf.Level
	options CSVOptions
	notes   bool // there is the column "Note"
}

func newCSV(r *perf.Report, o CSVOptions) *csvTable {
	r = r.Means()
	t := &csvTable{report: r, levels: r.Measured(), options: o}
	t.notes = slices.ContainsFunc(t.levels, func(l perf.Level) bool { return !l.Stable && !l.Incomplete })
	return t
}

func (t *csvTable) header() []string {
	s := &t.report.Settings
	var h []string
	if len(s.Batches) > 1 {
		h = append(h, "Batch Size")
	}
	h = append(h, label(s.Mode), "Inferences/Second")
	if s.Decoupled {
		h = append(h, "Response Throughput")
	}
	h = append(h, "Client Send")
	if s.ServerStats {
		h = append(h, "Network+Server Send/Recv", "Server Queue", "Server Compute Input", "Server Compute Infer", "Server Compute Output")
		if s.Cache {
			h = append(h, "Server Cache Hit", "Server Cache Miss")
		}
	}
	h = append(h, "Client Recv")
	for _, p := range t.levels[0].Percentiles {
		h = append(h, fmt.Sprintf("p%g latency", p.P))
	}
	if t.options.Verbose {
		if s.Percentile == 0 {
			h = append(h, "Avg latency")
		}
		h = append(h, "request/response", "response wait")
		if s.CollectMetrics {
			h = append(h, "Avg GPU Utilization", "Avg GPU Power Usage", "Max GPU Memory Usage", "Total GPU Memory")
		}
		if !t.hasTail() {
			h = append(h, "p99.9 latency")
		}
		h = append(h, qualityColumns...)
	}
	if t.notes {
		h = append(h, "Note")
	}
	return h
}

func (t *csvTable) row(l *perf.Level) []string {
	s := &t.report.Settings
	var row []string
	add := func(values ...int64) {
		for _, v := range values {
			row = append(row, strconv.FormatInt(v, 10))
		}
	}
	if len(s.Batches) > 1 {
		add(int64(l.Batch))
	}
	row = append(row, fmt.Sprintf("%.6g", l.Load.Value), fmt.Sprintf("%.6g", l.Throughput))
	if s.Decoupled {
		row = append(row, fmt.Sprintf("%.6g", l.ResponseThroughput))
	}
	_, send, recv, wait := clientMicros(&l.Summary)
	add(send)
	if s.ServerStats {
		server := l.Server
		if server == nil {
			server = &perf.ServerStats{}
		}
		m := microsOf(server)
		client := int64(l.AvgLatency - l.Client.Send - l.Client.Receive)
		add(t.network(client, accountedNs(server)), int64(m.queue), int64(m.input), int64(m.infer), int64(m.output))
		if s.Cache {
			add(int64(m.hit), int64(m.miss))
		}
	}
	add(recv)
	for _, p := range l.Percentiles {
		add(usec(p.Latency))
	}
	if !t.options.Verbose {
		return row
	}
	if s.Percentile == 0 {
		add(usec(l.AvgLatency))
	}
	add(send+recv, wait)
	if s.CollectMetrics {
		row = append(row, gpuCells(l.GPU)...)
	}
	if !t.hasTail() {
		add(usec(l.P999.Latency))
	}
	return append(row, qualityCells(l, s.Seed)...)
}

// hasTail reports whether p99.9 is one of the percentiles.
func (t *csvTable) hasTail() bool {
	return slices.ContainsFunc(t.levels[0].Percentiles, func(p perf.Percentile) bool { return p.P == 99.9 })
}

// accountedNs is the average time that the server's statistics account for.
func accountedNs(s *perf.ServerStats) int64 {
	avg := func(ns, n uint64) int64 {
		if n == 0 {
			return 0
		}
		return int64(ns / n)
	}
	compute := s.ComputeInput.Ns + s.ComputeInfer.Ns + s.ComputeOutput.Ns
	return avg(s.Queue.Ns, s.Queue.Count) + avg(compute, s.ComputeInput.Count) +
		avg(s.CacheHit.Ns, s.CacheHit.Count) + avg(s.CacheMiss.Ns, s.CacheMiss.Count)
}

// network returns the time that neither the client nor the server accounts for,
// in microseconds.
func (t *csvTable) network(client, accounted int64) int64 {
	us := max(0, client-accounted) / 1000
	if us == 0 && t.options.Notes != nil {
		// A failed notice does not fail the report.
		_, _ = fmt.Fprintln(t.options.Notes, "Server average accounted time was larger than client average wait time due to small sample size. Increase the measurement interval with `--measurement-interval`.")
	}
	return us
}

func gpuCells(g *perf.GPUStats) []string {
	if g == nil {
		g = &perf.GPUStats{}
	}
	cell := func(format string, values map[string]float64) string {
		var b strings.Builder
		for _, id := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(&b, "%s:"+format+";", id, values[id])
		}
		return b.String()
	}
	return []string{
		cell("%.6g", g.Utilization), cell("%.6g", g.Power),
		cell("%.0f", g.MemoryUsed), cell("%.0f", g.MemoryTotal),
	}
}

// ComposingModel is a composing model of an ensemble.
type ComposingModel struct{ Model, Version string }

// ComposingModels returns the composing models of the measured ensemble, for
// WriteComposingCSV.
func ComposingModels(r *perf.Report) []ComposingModel {
	var models []ComposingModel
	levels := r.Measured()
	if len(levels) == 0 || levels[0].Server == nil {
		return nil
	}
	for _, p := range levels[0].Server.Composing {
		models = append(models, ComposingModel{p.Model, p.Version})
	}
	return models
}

// WriteComposingCSV writes the levels with the statistics of one composing model.
func WriteComposingCSV(w io.Writer, r *perf.Report, model ComposingModel, o CSVOptions) error {
	t := newCSV(r, o)
	h := []string{label(r.Settings.Mode), "Inferences/Second", "Client Send", "Network+Server Send/Recv", "Server Queue", "Server Compute Input", "Server Compute Infer", "Server Compute Output"}
	if r.Settings.Cache {
		h = append(h, "Server Cache Hit", "Server Cache Miss")
	}
	h = append(h, "Client Recv")
	var b strings.Builder
	b.WriteString(strings.Join(h, ",") + "\n")
	for _, l := range byThroughput(t.levels) {
		if l.Server == nil {
			continue
		}
		for i := range l.Server.Composing {
			if p := &l.Server.Composing[i]; p.Model == model.Model && p.Version == model.Version {
				b.WriteString(strings.Join(t.composingRow(l, p), ",") + "\n")
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *csvTable) composingRow(l *perf.Level, p *perf.ServerStats) []string {
	share := 0.0
	if n := l.Server.Success.Count; n > 0 {
		share = float64(p.Success.Count) / float64(n)
	}
	m := microsOf(p)
	total := int64(0)
	if p.Success.Count > 0 {
		total = int64(p.Success.Ns / p.Success.Count)
	}
	row := []string{fmt.Sprintf("%.6g", l.Load.Value), fmt.Sprintf("%.6g", l.Throughput*share), "0"}
	values := []int64{max(0, total-accountedNs(p)) / 1000, int64(m.queue), int64(m.input), int64(m.infer), int64(m.output)}
	if t.report.Settings.Cache {
		values = append(values, int64(m.hit), int64(m.miss))
	}
	for _, v := range append(values, 0) {
		row = append(row, strconv.FormatInt(v, 10))
	}
	return row
}
