package client_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/client"
	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server"
	"triton/server/repository"
	"triton/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const sumModel = `backend: "sequence"
max_batch_size: 1
input { name: "INPUT" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "OUTPUT" data_type: TYPE_INT32 dims: [ 1 ] }
sequence_batching {
  max_sequence_idle_microseconds: 60000000
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } }
  control_input { name: "READY" control { kind: CONTROL_SEQUENCE_READY int32_false_true: [ 0, 1 ] } }
}
`

const repeatModel = `backend: "repeat"
model_transaction_policy { decoupled: true }
input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
input { name: "DELAY" data_type: TYPE_UINT32 dims: [ -1 ] }
input { name: "WAIT" data_type: TYPE_UINT32 dims: [ 1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }
output { name: "IDX" data_type: TYPE_UINT32 dims: [ 1 ] }
`

// each runs f with a client of each protocol and a real server with models.
func each(t *testing.T, f func(t *testing.T, c *client.Client)) {
	t.Helper()
	sink, err := log.Open(log.DefaultSettings(), io.Discard, io.Discard)
	require.NoError(t, err)
	s := servertest.Start(t,
		servertest.Model("identity", servertest.Identity("INT32", "-1", 8)),
		servertest.Model("text", servertest.Identity("STRING", "-1", 0)),
		servertest.Model("sum", sumModel),
		servertest.Model("repeat", repeatModel),
		servertest.With(func(o *server.Options) {
			o.ClientSharedMemory, o.Log, o.Logs = true, sink.Logger(), sink
			o.Models = server.Models{Control: repository.ControlExplicit, Startup: []string{"*"}}
		}))
	for p, address := range map[client.Protocol]string{client.HTTP: s.HTTP, client.GRPC: s.GRPC} {
		t.Run(p.String(), func(t *testing.T) {
			c, err := client.New(client.Options{Protocol: p, Address: address})
			require.NoError(t, err)
			defer func() { require.NoError(t, c.Close()) }()
			require.Equal(t, p, c.Protocol())
			f(t, c)
		})
	}
}

func TestInfer(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		r, err := c.Infer(t.Context(), &client.Request{
			Model: "identity", Version: "1", ID: `a "b"`, Priority: 1, Timeout: time.Second,
			Parameters: map[string]any{"s": "x", "b": true, "i": -3, "j": int64(4), "f": 0.5},
			Inputs:     []client.Tensor{client.NewTensor("INPUT0", []int64{2, 2}, int32(1), -2, 3, 4)},
		})
		require.NoError(t, err)
		require.Equal(t, []string{"identity", "1", `a "b"`}, []string{r.Model, r.Version, r.ID})
		out := r.Output("OUTPUT0")
		require.Equal(t, []int64{2, 2}, out.Shape)
		values, err := client.Values[int32](out)
		require.NoError(t, err)
		require.Equal(t, []int32{1, -2, 3, 4}, values)
		_, err = client.Values[float32](out)
		require.EqualError(t, err, `tensor "OUTPUT0" has the type INT32, not FP32`)
		_, err = client.Values[int32](r.Output("none"))
		require.EqualError(t, err, "there is no such tensor")

		r, err = c.Infer(t.Context(), &client.Request{
			Model:   "text",
			Inputs:  []client.Tensor{client.NewStrings("INPUT0", []int64{3}, "", "é", "\x00\n")},
			Outputs: []client.RequestedOutput{{Name: "OUTPUT0"}},
		})
		require.NoError(t, err)
		texts, err := client.Strings(r.Output("OUTPUT0"))
		require.NoError(t, err)
		require.Equal(t, []string{"", "é", "\x00\n"}, texts)

		r, err = c.Infer(t.Context(), &client.Request{
			Model:   "identity",
			Inputs:  []client.Tensor{client.NewTensor("INPUT0", []int64{1, 3}, int32(5), 9, 7)},
			Outputs: []client.RequestedOutput{{Name: "OUTPUT0", Classes: 2}},
		})
		require.NoError(t, err)
		texts, err = client.Strings(r.Output("OUTPUT0"))
		require.NoError(t, err)
		require.Equal(t, []string{"9:1", "7:2"}, texts)

		_, err = c.Infer(t.Context(), &client.Request{Model: "none"})
		require.ErrorContains(t, err, "'none' is not found")
		var se *status.Error
		require.ErrorAs(t, err, &se)
		_, err = c.Infer(t.Context(), &client.Request{Model: "identity", Parameters: map[string]any{"x": []int{1}}})
		require.ErrorContains(t, err, `parameter "x": the value is a []int`)
	})
}

func TestInferSequence(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		for _, id := range []client.Sequence{{ID: 7}, {ID: 1 << 40}} {
			total := int32(0)
			for i := range 3 {
				s := id
				s.Start, s.End = i == 0, i == 2
				r, err := c.Infer(t.Context(), &client.Request{
					Model: "sum", Sequence: s, Inputs: []client.Tensor{client.NewTensor("INPUT", []int64{1, 1}, int32(i+1))},
				})
				require.NoError(t, err)
				total += int32(i + 1)
				values, err := client.Values[int32](r.Output("OUTPUT"))
				require.NoError(t, err)
				require.Equal(t, []int32{total}, values)
			}
		}
		_, err := c.Infer(t.Context(), &client.Request{Model: "sum", Inputs: []client.Tensor{client.NewTensor("INPUT", []int64{1, 1}, int32(1))}})
		require.ErrorContains(t, err, "must specify a non-zero or non-empty correlation ID")
	})
}

func repeat(id string, values ...int32) *client.Request {
	n := int64(len(values))
	return &client.Request{Model: "repeat", ID: id, EmptyFinal: true, Inputs: []client.Tensor{
		client.NewTensor("IN", []int64{n}, values...),
		client.NewTensor("DELAY", []int64{n}, make([]uint32, n)...),
		client.NewTensor("WAIT", []int64{1}, uint32(0)),
	}}
}

func TestInferStream(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		s, err := c.InferStream(t.Context())
		if c.Protocol() == client.HTTP {
			require.EqualError(t, err, "HTTP has no streams: use gRPC")
			_, err = c.Infer(t.Context(), repeat("1", 1))
			require.ErrorContains(t, err, "empty final response")
			return
		}
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		require.NoError(t, s.Send(repeat("first", 5, 6)))
		for want := int32(5); ; want++ {
			r, err := s.Recv()
			require.NoError(t, err)
			require.Equal(t, "first", r.ID)
			if r.Final() {
				require.EqualValues(t, 7, want)
				break
			}
			values, err := client.Values[int32](r.Output("OUT"))
			require.NoError(t, err)
			require.Equal(t, []int32{want}, values)
		}
		require.NoError(t, s.Send(&client.Request{Model: "none", ID: "second"}))
		_, err = s.Recv()
		var failed *client.RequestError
		require.ErrorAs(t, err, &failed)
		require.Contains(t, failed.Msg, "'none' is not found")

		require.NoError(t, s.Send(repeat("third")))
		require.NoError(t, s.CloseSend())
		r, err := s.Recv()
		require.NoError(t, err, "the stream goes on after a failed request")
		require.True(t, r.Final())
		_, err = s.Recv()
		require.ErrorIs(t, err, io.EOF)
	})
}

func TestStreamEndsWithItsContext(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		if c.Protocol() == client.HTTP {
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		s, err := c.InferStream(ctx)
		require.NoError(t, err)
		cancel()
		_, err = s.Recv()
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, s.Close())
	})
}

func TestAdministration(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		ctx := t.Context()
		yes := func(ok bool, err error) {
			t.Helper()
			require.NoError(t, err)
			require.True(t, ok)
		}
		yes(c.Live(ctx))
		yes(c.Ready(ctx))
		yes(c.ModelReady(ctx, "identity", "1"))
		ready, err := c.ModelReady(ctx, "none", "")
		require.NoError(t, err)
		require.False(t, ready)
		meta, err := c.ServerMetadata(ctx)
		require.NoError(t, err)
		require.Contains(t, meta.GetExtensions(), "statistics")
		model, err := c.ModelMetadata(ctx, "identity", "")
		require.NoError(t, err)
		require.Equal(t, "INT32", model.GetInputs()[0].GetDatatype())
		config, err := c.ModelConfig(ctx, "identity", "1")
		require.NoError(t, err)
		require.EqualValues(t, 8, config.GetMaxBatchSize())
		_, err = c.ModelConfig(ctx, "none", "")
		require.Error(t, err)

		_, err = c.Infer(ctx, &client.Request{Model: "identity", Inputs: []client.Tensor{client.NewTensor("INPUT0", []int64{1, 1}, int32(1))}})
		require.NoError(t, err)
		stats, err := c.Statistics(ctx, "identity", "1")
		require.NoError(t, err)
		require.Len(t, stats, 1)
		require.Positive(t, stats[0].GetInferenceCount())
		stats, err = c.Statistics(ctx, "", "")
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(stats), 3)

		names := func() (all []string) {
			index, err := c.Index(ctx, true)
			require.NoError(t, err)
			for _, e := range index {
				all = append(all, e.GetName())
			}
			return all
		}
		require.Contains(t, names(), "text")
		require.NoError(t, c.Unload(ctx, "text", false))
		require.NotContains(t, names(), "text")
		require.NoError(t, c.Load(ctx, "text", client.Override{}))
		require.Contains(t, names(), "text")
		require.NoError(t, c.Load(ctx, "identity", client.Override{
			Config: `{"name":"identity","backend":"identity","max_batch_size":3,"input":[{"name":"INPUT0","data_type":"TYPE_INT32","dims":[-1]}],` +
				`"output":[{"name":"OUTPUT0","data_type":"TYPE_INT32","dims":[-1]}]}`,
			Files: map[string][]byte{"1/note": []byte("any bytes \xff")},
		}))
		config, err = c.ModelConfig(ctx, "identity", "")
		require.NoError(t, err)
		require.EqualValues(t, 3, config.GetMaxBatchSize())
		require.NoError(t, c.Load(ctx, "identity", client.Override{}))
		require.Error(t, c.Load(ctx, "none", client.Override{}))
	})
}

func TestSettings(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		ctx := t.Context()
		now, err := c.LogSettings(ctx)
		require.NoError(t, err)
		require.Equal(t, true, now["log_info"])
		now, err = c.SetLogSettings(ctx, client.LogSettings{"log_verbose_level": uint32(2), "log_format": "ISO8601", "log_warning": false})
		require.NoError(t, err)
		require.Equal(t, []any{uint32(2), "ISO8601", false}, []any{now["log_verbose_level"], now["log_format"], now["log_warning"]})
		_, err = c.SetLogSettings(ctx, client.LogSettings{"log_verbose_level": 0.5})
		require.ErrorContains(t, err, "float64")
		_, err = c.SetLogSettings(ctx, client.LogSettings{"log_verbose_level": uint32(0), "log_format": "default", "log_warning": true})
		require.NoError(t, err)

		for _, model := range []string{"", "identity"} {
			all, err := c.TraceSettings(ctx, model)
			require.NoError(t, err)
			rate := all["trace_rate"]
			require.Equal(t, []string{"OFF"}, all["trace_level"])
			all, err = c.SetTraceSettings(ctx, model, client.TraceSettings{"trace_rate": {"17"}})
			require.NoError(t, err)
			require.Equal(t, []string{"17"}, all["trace_rate"])
			all, err = c.SetTraceSettings(ctx, model, client.TraceSettings{"trace_rate": nil})
			require.NoError(t, err)
			require.Equal(t, rate, all["trace_rate"])
		}
	})
}

func TestSharedMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("POSIX shared memory is a file only on Linux")
	}
	file, err := os.CreateTemp("/dev/shm", "triton-client-test-")
	require.NoError(t, err)
	defer func() { require.NoError(t, errors.Join(file.Close(), os.Remove(file.Name()))) }()
	require.NoError(t, file.Truncate(4096))
	key := "/" + filepath.Base(file.Name())
	each(t, func(t *testing.T, c *client.Client) {
		ctx := t.Context()
		name := "region " + c.Protocol().String()
		region := client.SystemRegion{Name: name, Key: key, Size: 4096}
		require.NoError(t, c.RegisterSystemMemory(ctx, region))
		all, err := c.SystemMemory(ctx, "")
		require.NoError(t, err)
		require.Equal(t, []client.SystemRegion{region}, all)
		_, err = c.SystemMemory(ctx, "other")
		require.ErrorContains(t, err, "Unable to find system shared memory region")
		require.Error(t, c.RegisterSystemMemory(ctx, region), "the name is taken")

		in := client.NewTensor("INPUT0", []int64{1, 2}, int32(11), 12)
		_, err = file.WriteAt(in.Data, 64)
		require.NoError(t, err)
		in.Data, in.Region = nil, client.Region{Name: name, Offset: 64, Size: 8}
		r, err := c.Infer(ctx, &client.Request{
			Model: "identity", Inputs: []client.Tensor{in},
			Outputs: []client.RequestedOutput{{Name: "OUTPUT0", Region: client.Region{Name: name, Offset: 128, Size: 8}}},
		})
		require.NoError(t, err)
		out := r.Output("OUTPUT0")
		require.Empty(t, out.Data)
		out.Data = make([]byte, 8)
		_, err = file.ReadAt(out.Data, 128)
		require.NoError(t, err)
		values, err := client.Values[int32](out)
		require.NoError(t, err)
		require.Equal(t, []int32{11, 12}, values)

		require.NoError(t, c.UnregisterSystemMemory(ctx, name))
		all, err = c.SystemMemory(ctx, "")
		require.NoError(t, err)
		require.Empty(t, all)
		require.NoError(t, c.UnregisterSystemMemory(ctx, ""))

		// Without a GPU the text of the error is the server's own.
		err = c.RegisterCUDAMemory(ctx, client.CUDARegion{Name: "gpu", Handle: make([]byte, 64), Size: 4})
		require.ErrorContains(t, err, "GPUs not supported")
		gpus, err := c.CUDAMemory(ctx, "")
		require.NoError(t, err)
		require.Empty(t, gpus)
		require.NoError(t, c.UnregisterCUDAMemory(ctx, ""))
	})
}

// TestContextIsHonoured: a call ends with its context, and the client goes on.
func TestContextIsHonoured(t *testing.T) {
	each(t, func(t *testing.T, c *client.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		req := &client.Request{Model: "identity", Inputs: []client.Tensor{client.NewTensor("INPUT0", []int64{1, 1}, int32(1))}}
		_, err := c.Infer(ctx, req)
		require.ErrorIs(t, err, context.Canceled)
		_, err = c.ServerMetadata(ctx)
		require.ErrorIs(t, err, context.Canceled)
		_, err = c.Live(ctx)
		require.ErrorIs(t, err, context.Canceled)
		_, err = c.Infer(t.Context(), req)
		require.NoError(t, err)
	})
}

func TestParseProtocol(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]client.Protocol{"http": client.HTTP, "gRPC": client.GRPC} {
		p, err := client.ParseProtocol(text)
		require.NoError(t, err)
		require.Equal(t, want, p)
		require.Equal(t, strings.ToLower(text), strings.ToLower(p.String()))
	}
	_, err := client.ParseProtocol("x")
	require.Error(t, err)
}
