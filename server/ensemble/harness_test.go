package ensemble

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/stats"
)

// harness is an ensemble over fakes.
type harness struct {
	*Ensemble
	models map[string]*fake
	stats  *stats.Model
	pool   *tensor.Pool
	lost   error // of Acquire
}

// build makes an ensemble of a configuration without its steps' models. Close
// it in the same bubble.
func build(t testing.TB, config string, models ...*fake) *harness {
	c, err := modelconfig.Parse("e", []byte("name: \"e\" platform: \"ensemble\" "+config))
	require.NoError(t, err)
	c.Normalize()
	require.Empty(t, c.Validate())
	r := &harness{models: map[string]*fake{}, stats: stats.NewModel("e", "1", 8), pool: tensor.NewPool()}
	log := slog.New(slog.DiscardHandler)
	for _, m := range models {
		r.models[m.name] = m
		m.open(log)
	}
	var parts []*inferencepb.ModelConfig
	for _, s := range c.GetEnsembleScheduling().GetStep() {
		parts = append(parts, r.models[s.GetModelName()].cfg)
	}
	require.Empty(t, c.ValidateComposing(func(i int) *inferencepb.ModelConfig { return parts[i] }))
	if modelconfig.Decoupled(parts) {
		c.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: true}
	}
	r.Ensemble = New(Options{
		Config: c.ModelConfig, Models: parts, Stats: r.stats, Log: log,
		Submitter: r,
	})
	return r
}

// close drains everything and sees that no memory is left.
func (r *harness) close(t testing.TB) {
	require.NoError(t, r.Drain(context.Background()))
	for _, m := range r.models {
		require.NoError(t, m.group.Drain(context.Background()))
	}
	require.Zero(t, r.pool.Outstanding())
}

// request has the inputs, given as "IN=1,2".
func (r *harness) request(batch int, inputs ...string) *infer.Request {
	q := infer.NewUnpooled()
	q.ModelName, q.ModelVersion, q.Batch, q.Pool = "e", "1", batch, r.pool
	for _, text := range inputs {
		name, values, _ := strings.Cut(text, "=")
		var all []int32
		for v := range strings.SplitSeq(values, ",") {
			var n int32
			if _, err := fmt.Sscan(v, &n); err == nil {
				all = append(all, n)
			}
		}
		in := q.AddInput()
		in.Name, in.DataType = name, tensor.Int32
		in.Shape = append(in.Shape, int64(len(all)))
		if batch > 0 {
			in.Shape = tensor.Shape{int64(batch), int64(len(all) / batch)}
		}
		b := r.pool.Get(max(4*len(all), 1))
		for i, v := range all {
			b.Bytes()[4*i] = byte(v)
		}
		in.Data = tensor.SliceData(b, 0, 4*len(all))
		b.Release()
	}
	return q
}

// parameter reads "name:i5", "name:sX" or "name:btrue".
func parameter(text string) kserve.Parameter {
	name, value, _ := strings.Cut(text, ":")
	p := kserve.Parameter{Name: name}
	switch value[0] {
	case 'i':
		p.Kind = kserve.ParamInt
		_, _ = fmt.Sscan(value[1:], &p.Int)
	case 's':
		p.Kind, p.String = kserve.ParamString, value[1:]
	default:
		p.Kind, p.Bool = kserve.ParamBool, value == "btrue"
	}
	return p
}

// newSink returns a sink with the outputs and errors of responses as texts.
func newSink() *infertest.Sink {
	s := infertest.NewSink()
	s.Format = shown
	return s
}

func shown(resp *infer.Response) string {
	if resp.Err != nil {
		return status.CodeOf(resp.Err).String() + ": " + resp.Err.Error()
	}
	var parts []string
	for i := range resp.Outputs {
		o := &resp.Outputs[i]
		bytes, _ := o.Data.Contiguous()
		var values []string
		for j := 0; j+4 <= len(bytes); j += 4 {
			values = append(values, fmt.Sprint(int8(bytes[j])))
		}
		parts = append(parts, o.Name+o.Shape.String()+"="+strings.Join(values, ","))
	}
	return strings.Join(parts, " ")
}

func requested(output string) kserve.RequestedOutput { return kserve.RequestedOutput{Name: output} }

func failed(err error) *infer.Response {
	resp := infer.NewResponse()
	resp.Err = err
	return resp
}

// Acquire returns the fake of a step.
func (r *harness) Acquire(model, _ string) (infer.Callee, error) { return r.models[model], r.lost }
