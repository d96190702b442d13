package grpcapi_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/infer/infertest"
)

// scripted is a core with the models "one" and, decoupled, "dec", which run the script in their
// input (infertest.ParseScript), like testdata/stream/model.py with NVIDIA's server. Time is
// virtual: all steps run, in order, when a request for the model "barrier" arrives.
type scripted struct {
	*stub
	mu       sync.Mutex
	steps    []step
	size     int              // bytes of an output beyond its number
	received []*infer.Request // all that were submitted
}

type step struct {
	at time.Duration
	do func()
}

func newScripted() *scripted { return &scripted{stub: newStub()} }

func (s *scripted) Model(name, version string) (infer.Model, error) {
	switch {
	case version == "x":
		return nil, status.New(status.InvalidArg, "failed to get model version from specified version string 'x' "+
			"(details: stol), version should be an integral value > 0")
	case name != "one" && name != "dec" && name != "barrier":
		return nil, status.New(status.InvalidArg, "Request for unknown model: '%s' is not found", name)
	case version == "7":
		return nil, status.New(status.NotFound, "Request for unknown model: '%s' version 7 is not found", name)
	}
	s.held.Add(1)
	return &actor{(*echo)(s.stub), s, name}, nil
}

type actor struct {
	*echo
	core *scripted
	name string
}

func (m *actor) Config() *inferencepb.ModelConfig {
	return &inferencepb.ModelConfig{
		Name: m.name, ModelTransactionPolicy: &inferencepb.ModelTransactionPolicy{Decoupled: m.name == "dec"},
	}
}

func (m *actor) Submit(r *infer.Request) error {
	r.ModelVersion = "1"
	if m.name == "barrier" {
		go m.core.play(r)
		return nil
	}
	in := r.Input("S")
	if in == nil {
		err := status.New(status.InvalidArg, "%sexpected 1 inputs but got 0 inputs for model '%s'. Got input(s) [], "+
			"but missing required input(s) ['S']. Please provide all required input(s).", r.Tag(), m.name)
		r.Release()
		return err
	}
	text := make([]byte, in.Data.Len())
	in.Data.CopyTo(text)
	m.core.mu.Lock()
	defer m.core.mu.Unlock()
	m.core.received = append(m.core.received, r)
	m.core.plan(r, string(text[4:]))
	return nil
}

// plan records the steps of a script with their times.
func (s *scripted) plan(r *infer.Request, script string) {
	steps := infertest.ParseScript(script)
	if slices.ContainsFunc(steps, func(s infertest.Step) bool { return s.Word == "x" }) {
		steps = []infertest.Step{{Word: "X"}}
	}
	for n, p := range steps {
		final := p.Word == "f" || p.Word == strings.ToUpper(p.Word)
		resp := s.response(r, p.Word, int32(n))
		s.steps = append(s.steps, step{p.At, func() {
			if resp != nil {
				resp.ModelName, resp.ModelVersion, resp.ID = r.ModelName, r.ModelVersion, r.ID
			}
			r.Sink.Send(resp, final)
			if final {
				r.Release()
			}
		}})
	}
}

func (s *scripted) response(r *infer.Request, word string, n int32) *infer.Response {
	if word == "f" {
		return nil
	}
	resp := infer.NewResponse()
	switch strings.ToLower(word) {
	case "e":
		resp.Err = status.New(status.Unavailable, "failed %d", n)
	case "x":
		resp.Err = status.New(status.Internal, "raised")
	case "p":
		resp.Err = status.New(status.Internal, "got %s", parameterText(r.Parameters))
	default:
		b := s.pool.Get(4 + s.size)
		copy(b.Bytes(), []byte{byte(n), 0, 0, 0})
		resp.Add("N", tensor.Int32, tensor.Shape{1}, tensor.NewData(b))
	}
	return resp
}

func parameterText(ps []kserve.Parameter) string {
	var words []string
	for _, p := range ps {
		v := strconv.FormatInt(p.Int, 10)
		if p.Kind == kserve.ParamString {
			v = strconv.Quote(p.String)
		}
		words = append(words, fmt.Sprintf("%q:%s", p.Name, v))
	}
	return "{" + strings.Join(words, ",") + "}"
}

// play does all that is planned and answers the barrier.
func (s *scripted) play(barrier *infer.Request) {
	s.mu.Lock()
	steps := s.steps
	s.steps, s.received = nil, nil
	s.mu.Unlock()
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	for _, p := range steps {
		p.do()
	}
	end := infer.NewResponse()
	end.ID = barrier.ID
	barrier.Sink.Send(end, true)
	barrier.Release()
}
