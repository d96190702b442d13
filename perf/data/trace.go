package data

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"triton/perf/recording"
	"triton/pkg/tensor"
)

// A fixed schedule can be a trace of triton perf record in place of a JSON file: its requests
// have any batch size and arrivals that are finer than milliseconds.

var errTraceTimes = errors.New("the file is a trace, which needs --fixed-schedule; triton perf replay sends it")

// readTrace reads the requests of the model. A trace of one model can be sent to any model with
// the same inputs.
func (r *reader) readTrace(src []byte) error {
	if !r.timestamps {
		return errTraceTimes
	}
	if r.nested != nil && *r.nested {
		return errMixed
	}
	r.nested = new(bool)
	models, _, err := recording.Models(bytes.NewReader(src))
	if err != nil {
		return err
	}
	if len(models) > 1 && !slices.Contains(models, r.sig.Model) {
		return fmt.Errorf("the trace has requests for %s, and none for %s", strings.Join(models, ", "), r.sig.Model)
	}
	if len(r.streams) == 0 {
		r.streams = append(r.streams, nil)
	}
	var steps []Step
	first := time.Duration(math.MaxInt64)
	_, err = recording.Read(bytes.NewReader(src), func(_ int, req *recording.Request) error {
		if len(models) > 1 && req.Model != r.sig.Model {
			return nil
		}
		step, err := r.recorded(req)
		steps, first = append(steps, step), min(first, step.Time)
		return err
	})
	for i := range steps {
		steps[i].Time -= first // the wait for the first client is no part of the load
	}
	r.streams[0] = append(r.streams[0], steps...)
	return err
}

// recorded returns the step of a recorded request.
func (r *reader) recorded(req *recording.Request) (Step, error) {
	step := Step{Inputs: map[string]Value{}, Time: req.Arrival(), Recorded: &Recorded{Priority: req.Priority, TimeoutMicros: req.TimeoutUs}}
	var err error
	if step.Recorded.Parameters, err = req.KServe(); err != nil {
		return step, err
	}
	for i := range req.Inputs {
		in := &req.Inputs[i]
		if err := in.Check(); err != nil {
			return step, err
		}
		k := slices.IndexFunc(r.sig.Inputs, func(t Tensor) bool { return t.Name == in.Name })
		if k < 0 {
			return step, fmt.Errorf("the model %s has no input %q", r.sig.Model, in.Name)
		}
		if _, twice := step.Inputs[in.Name]; twice {
			return step, fmt.Errorf("the input %q is there twice", in.Name)
		}
		if err := checkRecorded(in, &r.sig.Inputs[k], r.sig.Batching); err != nil {
			return step, err
		}
		step.Inputs[in.Name] = Value{Shape: in.Shape, Data: in.Data}
	}
	for i := range r.sig.Inputs {
		t := &r.sig.Inputs[i]
		if _, ok := step.Inputs[t.Name]; !ok && !t.Optional {
			return step, fmt.Errorf("missing input %q", t.Name)
		}
	}
	return step, nil
}

// checkRecorded compares an input with the model's. Its shape begins with the batch dimension.
func checkRecorded(in *recording.Tensor, t *Tensor, batching bool) error {
	shape := tensor.Shape(in.Shape)
	item := shape
	if batching && !t.ShapeTensor {
		if len(shape) == 0 {
			return fmt.Errorf("input %q has no batch dimension", in.Name)
		}
		item = shape[1:]
	}
	if in.DataType != t.DataType.String() || !item.Matches(t.Shape) {
		return fmt.Errorf("input %q is %s %s, and the model's is %s %s", in.Name, in.DataType, shape, t.DataType, t.Shape)
	}
	return nil
}
