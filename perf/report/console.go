// Package report prints a run of package perf: perf_analyzer's console text and CSV, byte
// for byte, a table of all levels at the end, and a live view for terminals.
package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"triton/perf"
	"triton/pkg/measure"
	"triton/pkg/ui"
)

// Console writes perf_analyzer's text. Notices go to a separate stream. After the
// first write error nothing more is written.
type Console struct {
	out, notes io.Writer
	verbose    bool
	settings   perf.Settings
	err        error
}

var _ perf.Observer = (*Console)(nil)

// NewConsole returns a console that writes reports to out and notices to notes.
func NewConsole(out, notes io.Writer, verbose bool) *Console {
	return &Console{out: out, notes: notes, verbose: verbose}
}

// Err returns the first write error.
func (c *Console) Err() error { return c.err }

func (c *Console) printf(format string, args ...any) {
	if c.err == nil {
		_, c.err = fmt.Fprintf(c.out, format, args...)
	}
}

// note writes a notice of perf_analyzer, as it is.
func (c *Console) note(text string) {
	if c.err == nil {
		_, c.err = fmt.Fprintln(c.notes, text)
	}
}

// ownNote writes a notice that perf_analyzer does not have; it fits the terminal.
func (c *Console) ownNote(text string) {
	if c.err == nil {
		c.err = ui.WriteLine(c.notes, text)
	}
}

// ownLine writes a line of the report that perf_analyzer does not have; it fits the terminal.
func (c *Console) ownLine(text string) {
	if c.err == nil {
		c.err = ui.WriteLine(c.out, text)
	}
}

// Observe writes an event.
func (c *Console) Observe(e perf.Event) {
	switch e := e.(type) {
	case perf.DataRead:
		c.dataRead(e)
	case perf.Started:
		c.settings = e.Settings
		c.start()
	case perf.RepeatStarted:
		c.printf("*** Repeat %d of %d ***\n", e.Repeat, c.settings.Repeats)
	case perf.BatchStarted:
		c.printf("*** Batch size: %d ***\n", e.Batch)
	case perf.LevelStarted:
		c.header(e.Load)
	case perf.WindowDone:
		c.windowDone(e)
	case perf.LevelDone:
		c.level(e.Level)
	case perf.Notice:
		c.note(e.Text)
	case perf.Warning:
		c.ownNote(e.Text)
	case perf.Finished:
		c.summary(e.Report)
	}
}

func (c *Console) dataRead(e perf.DataRead) {
	if e.Streams == 1 {
		c.printf(" Successfully read data for 1 stream/streams with %d step/steps.\n", e.Steps)
		return
	}
	c.printf(" Successfully read data for %d stream/streams.\n", e.Streams)
}

// header writes the line above a level. There is none for intervals and schedules of
// the user.
func (c *Console) header(at perf.Load) {
	switch at.Mode {
	case perf.Concurrency:
		c.printf("Request concurrency: %d\n", at.Concurrency())
	case perf.RequestRate:
		c.printf("Request Rate: %.6g inference requests per second\n", at.Value)
	}
}

// label returns the title of a load in lists and columns.
func label(m perf.Mode) string {
	if m.Rate() {
		return "Request Rate"
	}
	return "Concurrency"
}

func (c *Console) windowDone(e perf.WindowDone) {
	if !c.verbose {
		return
	}
	if e.Err != nil {
		c.printf("  Pass [%d] cb::Error: %s\n", e.Trial, e.Err)
		return
	}
	c.printf("  Pass [%d] throughput: %.6g infer/sec. ", e.Trial, e.Summary.Throughput)
	if p := c.settings.Percentile; p > 0 {
		c.printf("p%g latency: %d usec\n", p, usec(e.Summary.Latency(p)))
		return
	}
	c.printf("Avg latency: %d usec (std %s usec). \n", usec(e.Summary.AvgLatency), deviation(e.Summary.StdDev))
}

// deviation returns a standard deviation; one request has none.
func deviation(usec uint64) string {
	if usec == math.MaxUint64 {
		return "-"
	}
	return strconv.FormatUint(usec, 10)
}

func usec(d time.Duration) int64 { return int64(d) / 1000 }

// level writes one level. A level over the latency limit, and one without requests, are left
// out.
func (c *Console) level(l *perf.Level) {
	if l.Requests == 0 || !l.Incomplete && l.OverLimit {
		return
	}
	c.clientBlock(&l.Summary)
	if c.settings.ServerStats && l.Server != nil {
		c.printf("  Server: \n")
		c.serverBlock(l.Server, 2, anyCache(l.Server))
	}
	if c.settings.CollectMetrics {
		c.metrics(l.GPU)
	}
	if l.Overhead > 50 {
		c.printf("[WARNING] Perf Analyzer is not able to keep up with the desired load. The results may not be accurate.\n")
	}
	if c.verbose {
		c.quality(l)
	}
	if !l.Stable && !l.Incomplete && len(c.settings.StopWhen) > 0 {
		c.ownLine("[WARNING] This level is not stable: its confidence intervals are wider than wanted.")
	} else if !l.Stable && !l.Incomplete {
		c.ownLine(fmt.Sprintf("[WARNING] This level is not stable: its windows differ by more than %.6g %%.", 100*c.settings.Stability))
	}
}

func (c *Console) clientBlock(s *perf.Summary) {
	c.printf("  Client: \n    Request count: %d\n", s.Requests)
	if t := s.Schedule; s.ManyLate() {
		c.printf("    Avg send request rate: %.2f infer/sec\n    [WARNING] Perf Analyzer was not able to keep up with the desired request rate. %.2f%% of the requests were delayed. \n",
			t.SendRate, 100*float64(t.Delayed)/float64(s.Requests))
	}
	if c.settings.Sequence {
		c.printf("    Sequence count: %d (%.6g seq/sec)\n", s.Sequences, measure.Throughput(uint64(s.Sequences), int64(s.Duration)))
	}
	c.printf("    Throughput: %.6g infer/sec\n", s.Throughput)
	if c.settings.Decoupled {
		c.printf("    Response Throughput: %.6g infer/sec\n", s.ResponseThroughput)
	}
	if c.verbose {
		c.printf("    Avg client overhead: %.2f%%\n", s.Overhead)
	}
	if c.settings.Percentile == 0 {
		c.printf("    Avg latency: %d usec (standard deviation %s usec)\n", usec(s.AvgLatency), deviation(s.StdDev))
	}
	for _, p := range s.Percentiles {
		c.printf("    p%g latency: %d usec\n", p.P, usec(p.Latency))
	}
	if c.settings.Decoupled || c.settings.InProcess() {
		c.printf("    \n")
		return
	}
	total, send, recv, wait := clientMicros(s)
	protocol := c.settings.Protocol
	c.printf("    Avg %s time: %d usec (", protocol, total)
	switch {
	case protocol == "gRPC" && c.verbose:
		c.printf("marshal %d usec + response wait %d usec + unmarshal %d usec)\n", send, wait, recv)
	case protocol == "gRPC":
		c.printf("(un)marshal request/response %d usec + response wait %d usec)\n", send+recv, wait)
	case c.verbose:
		c.printf("send %d usec + response wait %d usec + receive %d usec)\n", send, wait, recv)
	default:
		c.printf("send/recv %d usec + response wait %d usec)\n", send+recv, wait)
	}
}

// clientMicros splits the client's time of a request, in microseconds.
func clientMicros(s *perf.Summary) (total, send, recv, wait int64) {
	total, send, recv = usec(s.Client.Request), usec(s.Client.Send), usec(s.Client.Receive)
	return total, send, recv, max(0, total-send-recv)
}

// summary writes the list of levels at the end, with the means of their repeats.
func (c *Console) summary(r *perf.Report) {
	levels := r.Means().Measured()
	if len(levels) == 0 {
		return
	}
	if p := r.Settings.Percentile; p > 0 {
		c.printf("Inferences/Second vs. Client p%g Batch Latency\n", p)
	} else {
		c.printf("Inferences/Second vs. Client Average Batch Latency\n")
	}
	for i := range levels {
		l := &levels[i]
		if len(r.Settings.Batches) > 1 {
			c.printf("Batch size: %d, ", l.Batch)
		}
		c.printf("%s: %.6g, throughput: %.6g infer/sec, latency %d usec%s\n", label(l.Load.Mode), l.Load.Value, l.Throughput, usec(l.Stabilizing), suffix(l))
	}
	if r.Settings.Repeats > 1 {
		c.repeats(r)
	}
}

// suffix marks a level that is not stable.
func suffix(l *perf.Level) string {
	if l.Stable || l.Incomplete {
		return ""
	}
	return ", not stable"
}
