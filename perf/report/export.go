package report

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"

	"triton/perf"
	"triton/pkg/kserve"
	"triton/pkg/kserve/rest"
	"triton/pkg/tensor"
	"triton/pkg/tritonjson"
)

// ExportOptions describe the program and the server in an export.
type ExportOptions struct {
	Version     string // of the program
	ServiceKind string
	Endpoint    string
	Notes       io.Writer // receives warnings; may be nil
}

// WriteExport writes every request of a run with Config.Profile as JSON in perf_analyzer's
// form: --profile-export-file.
func WriteExport(w io.Writer, r *perf.Report, o ExportOptions) error {
	e := exporter{w: bufio.NewWriter(w), options: o, warned: map[tensor.DataType]bool{}}
	e.text(`{"experiments":[`)
	n := 0
	for _, l := range r.All() {
		if l.Profile == nil {
			continue
		}
		e.comma(n)
		e.experiment(l)
		n++
	}
	e.text(`],"version":`)
	e.value(o.Version)
	e.text(`,"service_kind":`)
	e.value(o.ServiceKind)
	e.text(`,"endpoint":`)
	e.value(o.Endpoint)
	e.text("}")
	return e.w.Flush()
}

// exporter writes JSON; Flush returns the first error.
type exporter struct {
	w       *bufio.Writer
	options ExportOptions
	scratch []byte
	warned  map[tensor.DataType]bool
}

func (e *exporter) text(s string) { _, _ = e.w.WriteString(s) }

func (e *exporter) comma(n int) {
	if n > 0 {
		e.text(",")
	}
}

func (e *exporter) value(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		b = []byte("null")
	}
	_, _ = e.w.Write(b)
}

func (e *exporter) number(n int64) { e.text(strconv.FormatInt(n, 10)) }

func (e *exporter) experiment(l *perf.Level) {
	e.text(`{"experiment":{"mode":`)
	switch l.Load.Mode {
	case perf.Concurrency:
		e.text(`"concurrency","value":` + strconv.Itoa(l.Load.Concurrency()))
	case perf.Periodic:
		e.text(`"concurrency","value":1`)
	default:
		rate := l.Load.Value
		if l.Load.Mode.Once() {
			rate = 0 // as perf_analyzer exports it
		}
		e.text(`"request_rate","value":`)
		_, _ = e.w.Write(tritonjson.AppendFloat(nil, rate))
	}
	e.text(`},"requests":[`)
	for i := range l.Profile.Requests {
		e.comma(i)
		e.request(&l.Profile.Requests[i])
	}
	e.text(`],"window_boundaries":[`)
	if m := l.Load.Mode; m == perf.Periodic || m == perf.Sessions {
		e.text("0,18446744073709551615]}") // no windows, as perf_analyzer writes it
		return
	}
	for i, edge := range l.Profile.Windows {
		e.comma(i)
		e.number(edge)
	}
	e.text("]}")
}

func (e *exporter) request(r *perf.RequestRecord) {
	e.text(`{"timestamp":`)
	e.number(r.Start)
	if r.Sequence != 0 {
		e.text(`,"sequence_id":` + strconv.FormatUint(r.Sequence, 10))
	}
	e.text(`,"request_inputs":`)
	e.tensors(r.Inputs)
	e.text(`,"response_timestamps":[`)
	for i := range r.Responses {
		e.comma(i)
		e.number(r.Responses[i].Time)
	}
	e.text(`],"response_outputs":[`)
	for i := range r.Responses {
		e.comma(i)
		e.tensors(r.Responses[i].Outputs)
	}
	e.text("]}")
}

func (e *exporter) tensors(list []kserve.Tensor) {
	e.text("{")
	for i := range list {
		e.comma(i)
		e.value(list[i].Name)
		e.text(":")
		e.tensor(&list[i])
	}
	e.text("}")
}

// tensor writes one element as a scalar, several as a list, none as an empty text.
func (e *exporter) tensor(t *kserve.Tensor) {
	count, err := t.Shape.Elements()
	if err == nil && (count == 0 || t.Data.Len() == 0) {
		e.text(`""`)
		return
	}
	var elements []byte
	if err == nil {
		elements, err = rest.AppendElements(e.scratch[:0], t)
	}
	switch {
	case err != nil:
		e.warn(t.DataType)
		e.text("null")
		return
	case count == 1:
		_, _ = e.w.Write(elements)
	default:
		e.text("[")
		_, _ = e.w.Write(elements)
		e.text("]")
	}
	e.scratch = elements[:0]
}

func (e *exporter) warn(d tensor.DataType) {
	if e.options.Notes == nil || e.warned[d] {
		return
	}
	e.warned[d] = true
	// A failed warning does not fail the export.
	_, _ = io.WriteString(e.options.Notes, "WARNING: unsupported data type: '"+d.String()+"'\n")
}
