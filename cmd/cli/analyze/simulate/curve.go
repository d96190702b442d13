package simulate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"triton/analyzer/capacity"
	"triton/perf/result"
)

// readCurve reads the cost curve from the files of an option. The name of a file may have the number of
// instances before it with which it was measured, as in 4@busy.json.
func readCurve(option string, files []string, model string) (*capacity.Curve, error) {
	var all []capacity.CurvePoint
	for _, name := range files {
		instances, file, err := splitName(option, name)
		if err != nil {
			return nil, err
		}
		points, err := readPoints(file, model)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", option, file, err)
		}
		for _, p := range points {
			p.Instances = cmp.Or(p.Instances, instances)
			all = append(all, p)
		}
	}
	c, err := capacity.NewCurve(all)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", option, err)
	}
	return c, nil
}

// splitName splits the number of instances from the name of a file. A file with such a name is
// read with ./ before it.
func splitName(option, name string) (instances int, file string, err error) {
	before, after, ok := strings.Cut(name, "@")
	n, numberErr := strconv.Atoi(before)
	if !ok || numberErr != nil {
		return 1, name, nil
	}
	if n < 1 {
		return 0, "", fmt.Errorf("%s %s: %d is no number of instances", option, name, n)
	}
	return n, after, nil
}

// readPoints reads a file of any of the forms.
func readPoints(file, model string) ([]capacity.CurvePoint, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, err
	}
	if isResult(text) {
		f, err := result.Read(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		return pointsOf(f, model)
	}
	return capacity.ReadCurvePoints(bytes.NewReader(text), model)
}

// isResult reports whether a file is a result of triton perf, or an export of perf_analyzer.
func isResult(text []byte) bool {
	var f struct {
		Format      string          `json:"format"`
		Experiments json.RawMessage `json:"experiments"`
	}
	return json.Unmarshal(text, &f) == nil && (f.Format == result.Format || f.Experiments != nil)
}

// pointsOf returns the executed batches of all levels of a result.
func pointsOf(f *result.File, model string) ([]capacity.CurvePoint, error) {
	var points []capacity.CurvePoint
	for _, l := range f.Levels {
		if l.Server == nil {
			continue
		}
		for _, s := range append([]result.Server{*l.Server}, l.Server.Composing...) {
			if model == "" && s.Model != l.Server.Model || model != "" && s.Model != model {
				continue
			}
			for _, b := range s.Batches {
				us := b.ComputeInputUs + b.ComputeInferUs + b.ComputeOutputUs
				if b.Executions > 0 && us > 0 {
					points = append(points, capacity.CurvePoint{
						Batch: int(b.Size), Time: time.Duration(us * float64(time.Microsecond)), Executions: b.Executions,
					})
				}
			}
		}
	}
	switch {
	case len(points) > 0:
		return points, nil
	case model != "":
		return nil, fmt.Errorf("the result has no executed batches of model %q", model)
	}
	return nil, errors.New("the result has no executed batches: it needs the server's statistics, which triton perf writes to -o FILE.json")
}
