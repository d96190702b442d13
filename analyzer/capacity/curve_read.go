package capacity

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// curveFile is a cost curve in JSON.
type curveFile struct {
	Model string `json:"model,omitempty"`
	// Curve has at least batch and time_us of each point.
	Curve []curveRecord `json:"cost_curve"`
}

// curveRecord is a point in JSON. Its names are also the columns in CSV.
type curveRecord struct {
	Batch      int     `json:"batch"`
	TimeUs     float64 `json:"time_us"`
	Instances  int     `json:"instances,omitempty"`
	Executions uint64  `json:"executions,omitempty"`
}

func (r curveRecord) point() CurvePoint {
	return CurvePoint{r.Batch, r.Instances, time.Duration(r.TimeUs * float64(time.Microsecond)), r.Executions}
}

// batchStatistics is the server's answer to a request for the statistics of a model.
type batchStatistics struct {
	Models []struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		Batches []struct {
			Size   flexibleNumber     `json:"batch_size"`
			Input  statisticsDuration `json:"compute_input"`
			Infer  statisticsDuration `json:"compute_infer"`
			Output statisticsDuration `json:"compute_output"`
		} `json:"batch_stats"`
	} `json:"model_stats"`
}

type statisticsDuration struct {
	Count flexibleNumber `json:"count"`
	Ns    flexibleNumber `json:"ns"`
}

// flexibleNumber is a whole number, which the protocol's JSON may write as text.
type flexibleNumber uint64

// UnmarshalJSON reads the number.
func (f *flexibleNumber) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseUint(strings.Trim(string(text), `"`), 10, 64)
	*f = flexibleNumber(n)
	return err
}

// ReadCurvePoints reads the points of a file, of one of three forms:
//
//   - CSV whose first line names the columns batch, time_us and, if wanted, instances and
//     executions;
//   - JSON: {"cost_curve": [{"batch": 1, "time_us": 2300}, ...]} with the same names;
//   - the statistics of a model as the server's HTTP endpoint gives them; with several models
//     in it, those of the named one.
func ReadCurvePoints(in io.Reader, model string) ([]CurvePoint, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxCurveBytes))
	switch {
	case err != nil:
		return nil, err
	case len(text) == maxCurveBytes:
		return nil, fmt.Errorf("the file is larger than %d bytes", maxCurveBytes)
	case len(bytes.TrimSpace(text)) == 0:
		return nil, errors.New("the file is empty")
	}
	if bytes.TrimSpace(text)[0] != '{' {
		return readCurveCSV(text)
	}
	var f curveFile
	var s batchStatistics
	if err := errors.Join(json.Unmarshal(text, &f), json.Unmarshal(text, &s)); err != nil {
		return nil, err
	}
	switch {
	case len(f.Curve) > 0:
		points := make([]CurvePoint, len(f.Curve))
		for i, r := range f.Curve {
			points[i] = r.point()
		}
		return points, nil
	case len(s.Models) > 0:
		return s.points(model)
	}
	return nil, errors.New("the JSON is no cost curve: it has neither cost_curve nor model_stats")
}

// maxCurveBytes bounds a file.
const maxCurveBytes = 16 << 20

// points returns the batches of one model. The time of a batch is what the instance was busy
// for: input, computation and output.
func (s batchStatistics) points(model string) ([]CurvePoint, error) {
	var names []string
	var points []CurvePoint
	for _, m := range s.Models {
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
		if model != "" && m.Name != model {
			continue
		}
		for _, b := range m.Batches {
			if n := uint64(b.Infer.Count); n > 0 {
				ns := float64(b.Input.Ns) + float64(b.Infer.Ns) + float64(b.Output.Ns)
				points = append(points, CurvePoint{Batch: int(b.Size), Time: time.Duration(ns / float64(n)), Executions: n})
			}
		}
	}
	switch {
	case model == "" && len(names) > 1:
		return nil, fmt.Errorf("the statistics are of the models %s: name one", strings.Join(names, ", "))
	case model != "" && !slices.Contains(names, model):
		return nil, fmt.Errorf("the statistics have no model %q, but %s", model, strings.Join(names, ", "))
	case len(points) == 0:
		return nil, errors.New("the statistics have no executed batches")
	}
	return points, nil
}

func readCurveCSV(text []byte) ([]CurvePoint, error) {
	d := csv.NewReader(bytes.NewReader(text))
	d.TrimLeadingSpace = true
	rows, err := d.ReadAll()
	if err != nil {
		return nil, err
	}
	columns := []string{"batch", "time_us", "instances", "executions"}
	head := rows[0]
	for i, name := range head {
		if !slices.Contains(columns, name) || slices.Contains(head[:i], name) {
			return nil, fmt.Errorf("column %q is unknown or repeated: the columns are %s", name, strings.Join(columns, ", "))
		}
	}
	if !slices.Contains(head, "batch") || !slices.Contains(head, "time_us") {
		return nil, errors.New("the columns batch and time_us are needed")
	}
	var points []CurvePoint
	for _, row := range rows[1:] {
		var r curveRecord
		for i, cell := range row {
			if err := r.set(head[i], strings.TrimSpace(cell)); err != nil {
				return nil, fmt.Errorf("line %d: %q in column %s is not a number from 0", len(points)+2, cell, head[i])
			}
		}
		points = append(points, r.point())
	}
	return points, nil
}

func (r *curveRecord) set(column, cell string) error {
	n, err := strconv.ParseFloat(cell, 64)
	if err != nil || !(n >= 0 && n < 1e15) {
		return errors.Join(err, errors.New("out of range"))
	}
	switch column {
	case "batch":
		r.Batch = int(n)
	case "time_us":
		r.TimeUs = n
	case "instances":
		r.Instances = int(n)
	case "executions":
		r.Executions = uint64(n)
	}
	return nil
}
