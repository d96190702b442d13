package scenario

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// recorder is the backend that testdata/model.py is for NVIDIA's server.
type recorder struct {
	begin time.Time
	mu    sync.Mutex
	runs  []Run
}

func (e *recorder) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	m := &recorded{recorder: e, spec: spec, seen: map[string]int32{}}
	for _, in := range spec.Config.GetInput() {
		m.optional = m.optional || in.GetOptional()
	}
	return m, nil
}

func (e *recorder) note(r Run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r.At = time.Since(e.begin)
	e.runs = append(e.runs, r)
}

// recorded is a model of the recorder, and all its instances.
type recorded struct {
	recorder *recorder
	spec     backend.Spec
	optional bool
	seen     map[string]int32 // what is left of iterative requests; such models have one instance
}

func (m *recorded) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	return m, nil
}

func (m *recorded) Close() error { return nil }

func (m *recorded) option(key string) (string, bool) {
	v, ok := m.spec.Config.GetParameters()[key]
	return v.GetStringValue(), ok
}

func (m *recorded) number(key string) int32 {
	text, _ := m.option(key)
	n, _ := strconv.Atoi(text)
	return int32(n)
}

func (m *recorded) Execute(_ context.Context, b *infer.Batch) error {
	b.InputEnd = infer.Now()
	run := Run{Model: m.spec.Name}
	failing, largest := false, int32(0)
	for _, r := range b.Requests {
		run.Members = append(run.Members, m.member(r))
		first := m.first(r)
		failing, largest = failing || first == -2, max(largest, first)
	}
	m.recorder.note(run)
	if _, decoupled := m.option("decoupled"); decoupled {
		m.decoupled(b)
		return nil
	}
	ms := m.number("exec")
	if text, _ := m.option("exec"); text == "value" {
		ms = largest
	}
	time.Sleep(time.Duration(ms) * time.Millisecond)
	b.OutputStart = infer.Now()
	if failing {
		return status.New(status.Internal, "boom")
	}
	_, iterative := m.option("iterative")
	for _, r := range b.Requests {
		switch {
		case r.Membership.Null:
		case iterative:
			m.iterate(r)
		default:
			r.Respond(m.answer(r, m.number("add")), true)
		}
	}
	return nil
}

// member returns the text of a request in the record of a batch.
func (m *recorded) member(r *infer.Request) string {
	name := r.ID
	if r.Membership.Null {
		name = "-"
	}
	if _, shape := m.arrays(r); len(shape) > 1 && shape[0] != 1 {
		name += fmt.Sprintf("*%d", shape[0])
	}
	if m.optional {
		var there []string
		for _, in := range m.spec.Config.GetInput() {
			if r.Input(in.GetName()) != nil {
				there = append(there, in.GetName())
			}
		}
		name += "{" + strings.Join(there, ",") + "}"
	}
	var controls []string
	for _, c := range m.spec.Config.GetSequenceBatching().GetControlInput() {
		controls = append(controls, c.GetName()+"="+control(r, c))
	}
	if controls != nil {
		name += "(" + strings.Join(controls, " ") + ")"
	}
	return name
}

func control(r *infer.Request, c *inferencepb.ModelSequenceBatching_ControlInput) string {
	t := r.Input(c.GetName())
	if t == nil {
		return "none"
	}
	raw, _ := t.Data.Contiguous()
	switch t.DataType {
	case tensor.Bytes:
		return string(raw[min(4, len(raw)):])
	case tensor.Bool:
		return strconv.Itoa(int(raw[0]))
	case tensor.FP32:
		return fmt.Sprint(int(floats(raw)))
	case tensor.Uint64, tensor.Int64:
		return fmt.Sprint(binary.LittleEndian.Uint64(raw))
	}
	return fmt.Sprint(int32(binary.LittleEndian.Uint32(raw)))
}

// arrays are the client's inputs in the model's order.
func (m *recorded) arrays(r *infer.Request) (all [][]int32, shape tensor.Shape) {
	for _, in := range m.spec.Config.GetInput() {
		if t := r.Input(in.GetName()); t != nil {
			raw := make([]byte, t.Data.Len())
			t.Data.CopyTo(raw)
			all, shape = append(all, numbers(raw)), t.Shape
		}
	}
	return all, shape
}

func (m *recorded) first(r *infer.Request) int32 {
	if all, _ := m.arrays(r); len(all) > 0 && len(all[0]) > 0 {
		return all[0][0]
	}
	return 0
}

func (m *recorded) answer(r *infer.Request, add int32) *infer.Response {
	resp := infer.NewResponse()
	if m.first(r) == -1 {
		resp.Err = status.New(status.Internal, "boom")
		return resp
	}
	all, shape := m.arrays(r)
	sum := []int32{0}
	if len(all) > 0 {
		sum = all[0]
		for _, more := range all[1:] {
			for i := range sum {
				sum[i] += more[i]
			}
		}
	} else {
		shape = tensor.Shape{1}
	}
	for _, out := range m.spec.Config.GetOutput() {
		if !r.Wants(out.GetName()) {
			continue
		}
		b := m.spec.Pool.Get(4 * len(sum))
		for i, n := range sum {
			binary.LittleEndian.PutUint32(b.Bytes()[4*i:], uint32(n+add))
		}
		resp.Add(out.GetName(), tensor.Int32, shape, tensor.NewData(b))
	}
	return resp
}

func (m *recorded) decoupled(b *infer.Batch) {
	todo := append([]*infer.Request(nil), b.Requests...)
	if _, after := m.option("thread"); after {
		for _, r := range todo {
			r.Keep()
		}
		go func() {
			m.repeat(todo)
			for _, r := range todo {
				r.LetGo()
			}
		}()
	} else {
		m.repeat(todo)
	}
	b.OutputStart = infer.Now()
}

func (m *recorded) repeat(todo []*infer.Request) {
	for _, r := range todo {
		n := m.first(r)
		if n == -1 {
			r.Respond(m.answer(r, 0), true)
			continue
		}
		for i := range n {
			time.Sleep(time.Duration(m.number("gap")) * time.Millisecond)
			r.Respond(m.answer(r, i-n), false)
		}
		r.Respond(nil, true)
	}
}

func (m *recorded) iterate(r *infer.Request) {
	left, again := m.seen[r.ID]
	if !again {
		left = m.first(r)
	}
	left--
	m.seen[r.ID] = left
	r.Respond(m.answer(r, left-m.first(r)), false)
	if left > 0 && r.Reschedule() == nil {
		return
	}
	delete(m.seen, r.ID)
	r.Respond(nil, true)
}
