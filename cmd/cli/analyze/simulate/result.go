package simulate

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"triton/analyzer/capacity"
	"triton/cmd/cli/flags"
	"triton/pkg/ui"
)

// row is the outcome of one setting under one load.
type row struct {
	load load
	capacity.Outcome
}

// doubts are the assumptions that a result rests on, each once.
type doubts []string

func (d *doubts) doubt(more []string) {
	for _, text := range more {
		if !slices.Contains(*d, text) {
			*d = append(*d, text)
		}
	}
}

// sweepResult is the result of `triton analyze simulate`.
type sweepResult struct {
	model string
	rows  []row
	doubts
}

// outcome is a row in JSON; CSV has its fields as columns.
type outcome struct {
	Load         string  `json:"load"`
	Rate         float64 `json:"rate_per_s,omitempty"`
	Clients      int     `json:"clients,omitempty"`
	MaxBatch     int     `json:"max_batch_size"`
	DelayUs      *int64  `json:"queue_delay_us"` // absent without dynamic batching
	Preferred    []int   `json:"preferred_batch_size,omitempty"`
	Instances    int     `json:"instances"` // on all devices
	Devices      int     `json:"devices"`
	Requests     int     `json:"requests"`
	Answered     int     `json:"answered"`
	Rejected     int     `json:"rejected"`
	Expired      int     `json:"expired"`
	Waiting      int     `json:"never_answered"`
	Throughput   float64 `json:"requests_per_s"`
	Rows         float64 `json:"rows_per_s"`
	Utilization  float64 `json:"utilization"`
	Executions   int     `json:"executions"`
	MeanBatch    float64 `json:"mean_batch"`
	MeanUs       float64 `json:"latency_mean_us"`
	P50Us        float64 `json:"latency_p50_us"`
	P90Us        float64 `json:"latency_p90_us"`
	P95Us        float64 `json:"latency_p95_us"`
	P99Us        float64 `json:"latency_p99_us"`
	MaxUs        float64 `json:"latency_max_us"`
	QueueMeanUs  float64 `json:"queue_mean_us"`
	QueueP99Us   float64 `json:"queue_p99_us"`
	IsOverloaded bool    `json:"overloaded"`
}

func outcomeOf(r row) outcome {
	s := r.Setting
	o := outcome{
		Load: r.load.name, Rate: r.load.rate, Clients: r.load.clients,
		MaxBatch: s.MaxBatch, Preferred: s.Preferred, Instances: s.Instances, Devices: s.Devices,
		Requests: r.Requests, Answered: r.Answered, Rejected: r.Rejected, Expired: r.Expired, Waiting: r.Waiting,
		Throughput: r.Throughput, Rows: r.Rows, Utilization: r.Utilization, Executions: r.Executions, MeanBatch: r.MeanBatch,
		MeanUs: microseconds(r.Mean), P50Us: microseconds(r.P50), P90Us: microseconds(r.P90), P95Us: microseconds(r.P95),
		P99Us: microseconds(r.P99), MaxUs: microseconds(r.Max), QueueMeanUs: microseconds(r.MeanQueue), QueueP99Us: microseconds(r.P99Queue),
		IsOverloaded: r.Overloaded,
	}
	if s.Dynamic() {
		us := s.Delay.Microseconds()
		o.DelayUs = &us
	}
	return o
}

func outcomesOf(rows []row) []outcome {
	all := make([]outcome, len(rows))
	for i, r := range rows {
		all[i] = outcomeOf(r)
	}
	return all
}

func (r *sweepResult) write(w io.Writer, form string) error {
	switch form {
	case flags.JSONForm.Name:
		return flags.WriteJSON(w, struct {
			Model    string    `json:"model,omitempty"`
			Outcomes []outcome `json:"outcomes"`
			Doubts   []string  `json:"assumptions,omitempty"`
		}{r.model, outcomesOf(r.rows), r.doubts})
	case flags.CSVForm.Name:
		return writeCSV(w, r.rows)
	}
	return flags.WriteDocument(w, form, ui.Document{Title: title("Simulated settings", r.model), Columns: columns(r.rows), Rows: cells(r.rows), Notes: r.notes()})
}

func title(what, model string) string {
	if model == "" {
		return what
	}
	return what + " of model " + model
}

func (r *sweepResult) notes() []string {
	var notes []string
	if slices.ContainsFunc(r.rows, func(r row) bool { return r.Overloaded }) {
		notes = append(notes, "overloaded: requests come faster than they are answered; the latency grows for as long as that lasts.")
	}
	for _, d := range r.doubts {
		notes = append(notes, d+".")
	}
	return notes
}

// columns returns the columns of the table. Those that are the same in all rows because they
// do not occur are left out.
func columns(rows []row) []ui.Column {
	all := []ui.Column{{Title: "Load", Align: ui.Right}, {Title: "Max batch", Align: ui.Right}, {Title: "Delay", Align: ui.Right}}
	if hasPreferred(rows) {
		all = append(all, ui.Column{Title: "Preferred"})
	}
	for _, name := range []string{"Devices", "Instances", "Requests/s", "Busy", "Mean batch", "p50 ms", "p90 ms", "p99 ms", "Queue p99 ms", "Refused"} {
		spare := map[string]int{"Requests/s": 1, "Busy": 2, "p50 ms": 3, "Mean batch": 4, "Refused": 5, "Queue p99 ms": 6, "p90 ms": 7, "Devices": 8}[name]
		all = append(all, ui.Column{Title: name, Align: ui.Right, Spare: spare})
	}
	return append(all, ui.Column{Title: ""})
}

func hasPreferred(rows []row) bool {
	return slices.ContainsFunc(rows, func(r row) bool { return len(r.Setting.Preferred) > 0 })
}

func cells(rows []row) [][]string {
	preferred := hasPreferred(rows)
	all := make([][]string, len(rows))
	for i, r := range rows {
		s := r.Setting
		line := []string{r.load.name, strconv.Itoa(s.MaxBatch), delay(s)}
		if preferred {
			line = append(line, strings.Trim(strings.ReplaceAll(fmt.Sprint(s.Preferred), " ", ","), "[]"))
		}
		remark := ""
		switch {
		case r.Waiting > 0:
			remark = ui.Plural(r.Waiting, "request") + " never answered"
		case r.Overloaded:
			remark = "overloaded"
		}
		all[i] = append(line,
			strconv.Itoa(s.Devices), strconv.Itoa(s.Instances), ui.Number(r.Throughput), fmt.Sprintf("%.0f%%", 100*r.Utilization),
			fmt.Sprintf("%.1f", r.MeanBatch), milliseconds(r.P50), milliseconds(r.P90), milliseconds(r.P99), milliseconds(r.P99Queue),
			refused(r.Outcome), remark)
	}
	return all
}

func delay(s capacity.Setting) string {
	if !s.Dynamic() {
		return "off"
	}
	return s.Delay.String()
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 2, 64)
}

func refused(o capacity.Outcome) string {
	n := o.Rejected + o.Expired
	if n == 0 || o.Requests == 0 {
		return "0"
	}
	return fmt.Sprintf("%.2g%%", 100*float64(n)/float64(o.Requests))
}

func writeCSV(w io.Writer, rows []row) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{
		"load", "rate_per_s", "clients", "max_batch_size", "queue_delay_us", "preferred_batch_size", "instances", "devices",
		"requests", "answered", "rejected", "expired", "never_answered", "requests_per_s", "rows_per_s", "utilization", "executions", "mean_batch",
		"latency_mean_us", "latency_p50_us", "latency_p90_us", "latency_p95_us", "latency_p99_us", "latency_max_us", "queue_mean_us", "queue_p99_us", "overloaded",
	})
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	for _, r := range rows {
		o := outcomeOf(r)
		wait := ""
		if o.DelayUs != nil {
			wait = strconv.FormatInt(*o.DelayUs, 10)
		}
		line := []string{o.Load, number(o.Rate), strconv.Itoa(o.Clients), strconv.Itoa(o.MaxBatch), wait, strings.Trim(fmt.Sprint(o.Preferred), "[]")}
		for _, n := range []int{o.Instances, o.Devices, o.Requests, o.Answered, o.Rejected, o.Expired, o.Waiting} {
			line = append(line, strconv.Itoa(n))
		}
		line = append(line, number(o.Throughput), number(o.Rows), number(o.Utilization), strconv.Itoa(o.Executions), number(o.MeanBatch))
		for _, v := range []float64{o.MeanUs, o.P50Us, o.P90Us, o.P95Us, o.P99Us, o.MaxUs, o.QueueMeanUs, o.QueueP99Us} {
			line = append(line, number(v))
		}
		_ = c.Write(append(line, strconv.FormatBool(o.IsOverloaded)))
	}
	c.Flush()
	return c.Error()
}
