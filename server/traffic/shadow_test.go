package traffic

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/pkg/trafficrules"
	"triton/server/infer"
)

// output returns an output of a type with the elements, which are float64 or string.
func output(name string, d tensor.DataType, elements ...any) kserve.Tensor {
	var b []byte
	for _, e := range elements {
		switch e := e.(type) {
		case string:
			b = tensor.AppendElementString(b, e)
		case float64:
			switch d {
			case tensor.FP64:
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(e))
			case tensor.FP32:
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(e)))
			case tensor.FP16:
				b = binary.LittleEndian.AppendUint16(b, tensor.FP16Bits(float32(e)))
			case tensor.BF16:
				b = binary.LittleEndian.AppendUint16(b, tensor.BF16Bits(float32(e)))
			default:
				b = append(b, binary.LittleEndian.AppendUint64(nil, uint64(int64(e)))[:d.Size()]...)
			}
		}
	}
	return kserve.Tensor{Name: name, DataType: d, Shape: tensor.Shape{int64(len(elements))}, Data: tensor.NewData(tensor.HeapBuffer(b))}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	loose := &trafficrules.Shadow{Tolerances: map[string]trafficrules.Tolerance{"FP32": {ATol: 0.5}}}
	for _, c := range []struct {
		name       string
		config     *trafficrules.Shadow
		a, b       []kserve.Tensor
		mismatched uint64
		maxAbs     float64
		reasons    string
	}{
		{"equal", nil, []kserve.Tensor{output("o", tensor.FP32, 1.0, 2.0)}, []kserve.Tensor{output("o", tensor.FP32, 1.0, 2.0)}, 0, 0, ""},
		{"within the tolerance", nil, []kserve.Tensor{output("o", tensor.FP32, 1000.0)}, []kserve.Tensor{output("o", tensor.FP32, 1000.0625)}, 0, 0.0625, ""},
		{"outside", nil, []kserve.Tensor{output("o", tensor.FP32, 1.0, 2.0)}, []kserve.Tensor{output("o", tensor.FP32, 1.0, 2.5)}, 1, 0.5, "values"},
		{"of the document", loose, []kserve.Tensor{output("o", tensor.FP32, 2.0)}, []kserve.Tensor{output("o", tensor.FP32, 2.5)}, 0, 0.5, ""},
		{"of another type", loose, []kserve.Tensor{output("o", tensor.FP64, 2.0)}, []kserve.Tensor{output("o", tensor.FP64, 2.5)}, 1, 0.5, "values"},
		{"half", nil, []kserve.Tensor{output("o", tensor.FP16, 1.0, -65504.0)}, []kserve.Tensor{output("o", tensor.FP16, 1.001, -65472.0)}, 0, 32, ""},
		{"bfloat", nil, []kserve.Tensor{output("o", tensor.BF16, 1.0)}, []kserve.Tensor{output("o", tensor.BF16, 1.5)}, 1, 0.5, "values"},
		{"integers are exact", nil, []kserve.Tensor{output("o", tensor.Int32, -1.0, 5.0)}, []kserve.Tensor{output("o", tensor.Int32, 1.0, 5.0)}, 1, 2, "values"},
		{"NaN is NaN", nil, []kserve.Tensor{output("o", tensor.FP32, nan, 1.0)}, []kserve.Tensor{output("o", tensor.FP32, nan, 1.00001)}, 0, 1e-5, ""},
		{"NaN differs", &trafficrules.Shadow{NaNDiffers: true}, []kserve.Tensor{output("o", tensor.FP32, nan)}, []kserve.Tensor{output("o", tensor.FP32, nan)}, 1, 0, "values"},
		{"NaN and a number", nil, []kserve.Tensor{output("o", tensor.FP32, nan)}, []kserve.Tensor{output("o", tensor.FP32, 1.0)}, 1, 0, "values"},
		{"infinities", nil, []kserve.Tensor{output("o", tensor.FP64, inf, inf)}, []kserve.Tensor{output("o", tensor.FP64, inf, -inf)}, 1, 0, "values"},
		{"strings", nil, []kserve.Tensor{output("o", tensor.Bytes, "a", "bc", "d")}, []kserve.Tensor{output("o", tensor.Bytes, "a", "bd", "e")}, 2, 0, "values"},
		{"number of strings", nil, []kserve.Tensor{output("o", tensor.Bytes, "a")}, []kserve.Tensor{output("o", tensor.Bytes, "a", "b")}, 0, 0, "shape"},
		{"type", nil, []kserve.Tensor{output("o", tensor.FP32, 1.0)}, []kserve.Tensor{output("o", tensor.FP64, 1.0)}, 0, 0, "data type"},
		{"shape", nil, []kserve.Tensor{output("o", tensor.FP32, 1.0)}, []kserve.Tensor{output("o", tensor.FP32, 1.0, 2.0)}, 0, 0, "shape"},
		{"names", nil, []kserve.Tensor{output("o", tensor.FP32, 1.0)}, []kserve.Tensor{output("p", tensor.FP32, 1.0)}, 0, 0, "missing unexpected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.config == nil {
				c.config = &trafficrules.Shadow{}
			}
			r := compareOutputs(c.config, c.a, c.b)
			require.Equal(t, c.mismatched, r.mismatched)
			require.InDelta(t, c.maxAbs, r.maxAbs, 1e-6)
			var reasons []string
			for _, d := range r.diffs {
				reasons = append(reasons, d.Reason)
			}
			require.Equal(t, c.reasons, strings.Join(reasons, " "))
		})
	}
}

// target is a model version that answers with its input and a drift.
type target struct {
	infer.Model
	name, version string
	config        *inferencepb.ModelConfig
	delay         time.Duration
	err           error
	priorities    []uint64
}

func (m *target) Name() string                     { return m.name }
func (m *target) Version() string                  { return m.version }
func (m *target) Config() *inferencepb.ModelConfig { return m.config }
func (m *target) Release()                         {}

func (m *target) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	defer r.Release()
	m.priorities = append(m.priorities, r.Priority)
	select {
	case <-time.After(m.delay):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if m.err != nil {
		return nil, m.err
	}
	resp := infer.NewResponse()
	in := r.Input("IN")
	resp.Add("OUT", tensor.FP32, in.Shape, in.Data.Clone())
	return resp, nil
}

func request(t *testing.T, edit func(*infer.Request)) *infer.Request {
	r := infer.NewUnpooled()
	in := r.AddInput()
	*in = output("IN", tensor.FP32, 1.0, 2.0)
	r.ID = "id"
	if edit != nil {
		edit(r)
	}
	t.Cleanup(func() { r.Release(); r.Release() })
	return r
}

// answer ends a copy with an answer of the primary.
func answer(c *shadowCopy, values ...any) {
	resp := infer.NewResponse()
	o := output("OUT", tensor.FP32, values...)
	resp.Add("OUT", o.DataType, o.Shape, o.Data)
	c.Finish(resp)
	resp.Release()
}

// TestBounds: copies beyond the limits are dropped at once, also while the target hangs, and all
// memory is released.
func TestBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		primary := &target{name: "m", version: "1", config: &inferencepb.ModelConfig{}}
		other := &target{name: "m", version: "2", delay: time.Hour, config: &inferencepb.ModelConfig{
			SchedulingChoice: &inferencepb.ModelConfig_DynamicBatching{DynamicBatching: &inferencepb.ModelDynamicBatching{PriorityLevels: 5}},
		}}
		pool := tensor.NewPool()
		config := &trafficrules.Shadow{Percent: 100, MaxPending: 4, MaxBytes: 100, TimeoutSeconds: 10}
		s := newShadow(shadowOptions{Config: config, Pool: pool, Acquire: func() (infer.Model, error) { return other, nil }})
		s.Start(t.Context())
		r := request(t, nil)
		for range 3 {
			answer(s.Begin(r, primary), 1.0, 2.0)
		}
		c := s.Begin(r, primary)
		require.NotNil(t, c)
		require.Nil(t, s.Begin(r, primary), "four are pending")
		require.Equal(t, uint64(1), s.Status(false).Dropped)
		c.Finish(nil)
		big := request(t, func(r *infer.Request) {
			in := r.AddInput()
			*in = output("IN2", tensor.FP64, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
		})
		require.Nil(t, s.Begin(big, primary), "too many bytes")
		require.Equal(t, 3, s.Status(false).Pending)
		time.Sleep(31 * time.Second)
		st := s.Status(true)
		require.Equal(t, uint64(3), st.Failed, "each after its timeout")
		require.Zero(t, st.Pending)
		require.Equal(t, "context deadline exceeded", st.Diffs[0].Detail)
		require.Equal(t, []uint64{5, 5, 5}, other.priorities, "the lowest level")

		answer(s.Begin(r, primary), 1.0, 2.0)
		answer(s.Begin(r, primary), 1.0, 2.0)
		synctest.Wait()
		s.Close()
		s.Close()
		require.Zero(t, s.Status(false).Pending)
		late := s.Begin(r, primary)
		answer(late, 1.0, 2.0)
		require.Zero(t, s.Status(false).Pending)
		require.Zero(t, pool.Outstanding())
		require.Zero(t, s.bytes.Load())
	})
}

// TestSkipped: requests with state, with several answers or with memory of the client are not
// copied, nor compared with the version that answered.
func TestSkipped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plain := &inferencepb.ModelConfig{}
		sequence := &inferencepb.ModelConfig{SchedulingChoice: &inferencepb.ModelConfig_SequenceBatching{}}
		sequence.SchedulingChoice.(*inferencepb.ModelConfig_SequenceBatching).SequenceBatching = &inferencepb.ModelSequenceBatching{}
		decoupled := &inferencepb.ModelConfig{ModelTransactionPolicy: &inferencepb.ModelTransactionPolicy{Decoupled: true}}
		same := &target{name: "m", version: "1", config: plain}
		s := newShadow(shadowOptions{Config: &trafficrules.Shadow{Percent: 100}, Pool: tensor.NewPool(), Acquire: func() (infer.Model, error) { return same, nil }})
		s.Start(t.Context())
		defer s.Close()
		for _, c := range []*inferencepb.ModelConfig{sequence, decoupled} {
			require.Nil(t, s.Begin(request(t, nil), &target{name: "m", version: "2", config: c}))
		}
		region := request(t, func(r *infer.Request) {
			r.Outputs = []kserve.RequestedOutput{{Name: "OUT", Into: tensor.Segment{Buffer: tensor.HeapBuffer(make([]byte, 8)), N: 8}}}
		})
		require.Nil(t, s.Begin(region, same))
		answer(s.Begin(request(t, nil), same), 1.0, 2.0)
		failed := infer.NewResponse()
		failed.Err = errors.New("it failed")
		s.Begin(request(t, nil), same).Finish(failed)
		failed.Release()
		synctest.Wait()
		require.Equal(t, uint64(5), s.Status(false).Skipped)
		require.Zero(t, s.Status(false).Compared)
	})
}

// TestDiffs: the newest differences are kept, without contents if these are hidden.
func TestDiffs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		three := 3
		for _, hide := range []bool{false, true} {
			primary := &target{name: "m", version: "1", config: &inferencepb.ModelConfig{}}
			other := &target{name: "n", version: "2", config: &inferencepb.ModelConfig{}}
			s := newShadow(shadowOptions{
				Config: &trafficrules.Shadow{Percent: 100, Diffs: &three, HideContents: hide}, Pool: tensor.NewPool(),
				Acquire: func() (infer.Model, error) { return other, nil },
			})
			s.Start(t.Context())
			for i := range 5 {
				answer(s.Begin(request(t, nil), primary), 1.0, 10.0+float64(i))
				synctest.Wait()
			}
			st := s.Status(true)
			require.Equal(t, uint64(5), st.Mismatched)
			require.Equal(t, 12.0, st.MaxAbsError)
			require.Len(t, st.Diffs, 3)
			for i, d := range st.Diffs {
				require.Equal(t, "m:1", d.Primary)
				require.Equal(t, "n:2", d.Shadow)
				require.Equal(t, 1, d.Index)
				require.Equal(t, 12.0-float64(i), d.MaxAbsError)
				require.Equal(t, hide, d.ShadowValue == "" && d.PrimaryValue == "" && d.RequestID == "")
			}
			s.Close()
		}
	})
}

// region is memory of a client.
type region struct{}

func (region) Free(*tensor.Buffer) {}
func (region) Foreign()            {}
func (region) Lost() error         { return nil }

// TestMemoryOfClients: an answer in memory of the client is not kept, because the client may change
// it, or take it away.
func TestMemoryOfClients(t *testing.T) {
	t.Parallel()
	primary := &target{name: "m", version: "1", config: &inferencepb.ModelConfig{}}
	pool := tensor.NewPool()
	s := newShadow(shadowOptions{Config: &trafficrules.Shadow{Percent: 100}, Pool: pool})
	c := s.Begin(request(t, nil), primary)
	require.NotNil(t, c)
	resp := infer.NewResponse()
	resp.Add("OUT", tensor.FP32, tensor.Shape{1}, tensor.NewData(tensor.NewBuffer(make([]byte, 4), true, region{})))
	c.Finish(resp)
	resp.Release()
	require.Equal(t, uint64(1), s.Status(false).Skipped)
	require.Zero(t, s.Status(false).Pending)
	require.Zero(t, pool.Outstanding())
}

// TestPanic: a target that panics costs its copy, and the next one is compared.
func TestPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		primary := &target{name: "m", version: "1", config: &inferencepb.ModelConfig{}}
		other := &target{name: "m", version: "2", config: &inferencepb.ModelConfig{}}
		panics := true
		pool := tensor.NewPool()
		s := newShadow(shadowOptions{Config: &trafficrules.Shadow{Percent: 100}, Pool: pool, Acquire: func() (infer.Model, error) {
			if panics {
				panics = false
				panic("of a target")
			}
			return other, nil
		}})
		s.Start(t.Context())
		for range 2 {
			answer(s.Begin(request(t, nil), primary), 1.0, 2.0)
			synctest.Wait()
		}
		s.Close()
		st := s.Status(true)
		require.Equal(t, uint64(1), st.Failed)
		require.Equal(t, uint64(1), st.Compared)
		require.Equal(t, "error", st.Diffs[len(st.Diffs)-1].Reason)
		require.Zero(t, st.Pending)
		require.Zero(t, pool.Outstanding())
	})
}
