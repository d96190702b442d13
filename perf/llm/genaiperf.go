package llm

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"triton/pkg/ui"
)

// WriteTable writes the metrics as genai-perf does, in its rows and columns, and below the table how
// tokens were counted. WriteCSV and WriteJSON write its files.
func WriteTable(w io.Writer, m *Metrics) error {
	columns := []ui.Column{{Title: "Statistic", Align: ui.Right}}
	for i, title := range []string{"avg", "min", "max", "p99", "p90", "p75"} {
		columns = append(columns, ui.Column{Title: title, Align: ui.Right, Spare: i})
	}
	var rows [][]string
	for _, d := range m.PerRequest {
		v := &d.Values
		row := []string{metricTitle(d.Name, d.Unit)}
		for _, f := range []float64{v.Mean, v.Min, v.Max, v.Of(99), v.Of(90), v.Of(75)} {
			row = append(row, grouped(f))
		}
		rows = append(rows, row)
	}
	for _, t := range m.Totals {
		row := []string{metricTitle(t.Name, t.Unit), grouped(t.Value)}
		for len(row) < len(columns) {
			row = append(row, "N/A")
		}
		rows = append(rows, row)
	}
	if err := ui.Table(w, columns, rows); err != nil {
		return err
	}
	_, err := io.WriteString(w, tokenNote(m))
	return err
}

// tokenNote says how tokens were counted and which requests were left out.
func tokenNote(m *Metrics) string {
	note := ""
	if len(m.OutputFrom) > 0 {
		note = fmt.Sprintf("Tokens are counted by: %s (output), %s (input).\n", sources(m.OutputFrom), sources(m.InputFrom))
	}
	if m.Silent > 0 && len(m.OutputFrom) > 0 {
		note += ui.Plural(m.Silent, "request") + " without any text left out.\n"
	}
	return note
}

func sources(list []Source) string {
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = string(s)
	}
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, ", ")
}

// metricTitle returns the title of a metric, such as "Request Latency (ms)".
func metricTitle(name, unit string) string {
	words := strings.Split(name, "_")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, " ") + " (" + unit + ")"
}

// grouped formats a number as 1,234.56.
func grouped(f float64) string {
	s := strconv.FormatFloat(f, 'f', 2, 64)
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole := s[:len(s)-3]
	for i := len(whole) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// WriteCSV writes the metrics as genai-perf's CSV file.
func WriteCSV(w io.Writer, m *Metrics) error {
	c := csv.NewWriter(w)
	c.UseCRLF = true // as Python's module writes it
	header := []string{"Metric", "avg", "min", "max"}
	descending := slices.Clone(Percentiles[:])
	slices.Reverse(descending)
	for _, p := range descending {
		header = append(header, fmt.Sprintf("p%g", p))
	}
	records := [][]string{header}
	for _, d := range m.PerRequest {
		v := &d.Values
		row := []string{metricTitle(d.Name, d.Unit), grouped(v.Mean), grouped(v.Min), grouped(v.Max)}
		for _, p := range descending {
			row = append(row, grouped(v.Of(p)))
		}
		records = append(records, row)
	}
	if err := c.WriteAll(records); err != nil {
		return fmt.Errorf("CSV: %w", err)
	}
	if _, err := io.WriteString(w, "\r\n"); err != nil {
		return err
	}
	records = [][]string{{"Metric", "Value"}}
	for _, t := range m.Totals {
		records = append(records, []string{metricTitle(t.Name, t.Unit), grouped(t.Value)})
	}
	if err := c.WriteAll(records); err != nil {
		return fmt.Errorf("CSV: %w", err)
	}
	return nil
}

// GenAIPerfRun describes the run of a JSON file of metrics, as far as we know it.
type GenAIPerfRun struct {
	Model, ServiceKind, Endpoint, URL string
	Mode                              string // concurrency, request_rate or session_concurrency
	Value                             float64
	ExportFile                        string
	Goals                             []Objective
}

// metricOrder is the order of genai-perf's JSON file.
var metricOrder = []string{
	"request_throughput", "request_latency", "request_goodput", "request_count", "time_to_first_token", "time_to_second_token",
	"inter_token_latency", "output_token_throughput", "output_token_throughput_per_user", "output_sequence_length", "input_sequence_length",
}

// WriteJSON writes the metrics as genai-perf's JSON file.
func WriteJSON(w io.Writer, m *Metrics, r GenAIPerfRun) error {
	all := metricMembers(m)
	all = append(all, member{"telemetry_stats", object{}}, member{"input_config", r.config(m)},
		member{"token_counts", object{{"output", m.OutputFrom}, {"input", m.InputFrom}}})
	if len(m.Sessions) > 0 {
		var sessions object
		for _, s := range m.Sessions {
			sessions = append(sessions, member{s.ID, metricMembers(s.Metrics)})
		}
		all = append(all, member{"sessions", sessions})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(all); err != nil {
		return fmt.Errorf("JSON: %w", err)
	}
	return nil
}

func metricMembers(m *Metrics) object {
	byName := map[string]object{}
	for _, t := range m.Totals {
		byName[t.Name] = object{{"unit", t.JSON}, {"avg", t.Value}}
	}
	for _, d := range m.PerRequest {
		v := &d.Values
		o := object{{"unit", d.Unit}, {"avg", v.Mean}}
		for _, p := range Percentiles {
			o = append(o, member{fmt.Sprintf("p%g", p), v.Of(p)})
		}
		byName[d.Name] = append(o, member{"min", v.Min}, member{"max", v.Max}, member{"std", v.StdDev})
	}
	var all object
	for _, name := range metricOrder {
		if o, ok := byName[name]; ok {
			all = append(all, member{name, o})
		}
	}
	return all
}

func (r GenAIPerfRun) config(m *Metrics) object {
	streaming := slices.ContainsFunc(m.PerRequest, func(d Distribution) bool { return d.Name == "time_to_first_token" })
	goals := object{}
	for _, g := range r.Goals {
		goals = append(goals, member{g.Metric, g.Value})
	}
	return object{
		{"model_names", []string{r.Model}},
		{"endpoint", object{{"service_kind", r.ServiceKind}, {"custom", r.Endpoint}, {"streaming", streaming}, {"url", r.URL}}},
		{"perf_analyzer", object{{"stimulus", object{{r.Mode, r.Value}}}}},
		{"input", object{{"goodput", goals}}},
		{"output", object{{"profile_export_file", r.ExportFile}}},
	}
}

// object is a JSON object whose members have an order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
