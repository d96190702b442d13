package perf

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/perf"
	"triton/perf/data"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server"
	"triton/server/backend/onnx"
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

const ensembleModel = `platform: "ensemble"
max_batch_size: 8
input { name: "A" data_type: TYPE_INT32 dims: [ 4 ] }
output { name: "B" data_type: TYPE_INT32 dims: [ 4 ] }
ensemble_scheduling { step { model_name: "numbers" model_version: -1 input_map { key: "INPUT0" value: "A" } output_map { key: "OUTPUT0" value: "B" } } }
`

// models writes a model repository.
func models(t *testing.T) string {
	dir := t.TempDir()
	for name, config := range map[string]string{
		"numbers": servertest.Identity("INT32", "4", 8), "text": servertest.Identity("STRING", "-1", 0),
		"sum": sumModel, "repeat": repeatModel, "ensemble": ensembleModel, "broken": `backend: "none"`,
		"failing": `parameters { key: "fail" value { string_value: "1" } }` + "\n" + `backend: "fault"
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 4 ] }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 4 ] }`,
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "1"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "config.pbtxt"), []byte(config), 0o644))
	}
	return dir
}

// start starts a server with a model. At the end it must have released all memory.
func start(t *testing.T, o inProcessOptions) (perf.Target, error) {
	t.Helper()
	o.Server = server.Default()
	o.Server.Backends = server.NewBackends(onnx.Search{Getenv: func(string) string { return "" }})
	s, err := startServer(t.Context(), o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.Zero(t, s.(*inProcessTarget).Core().Pool().Outstanding(), "buffers that were not released")
	})
	return s, nil
}

// kept is a target that Run does not close.
type kept struct{ *inProcessTarget }

func (kept) Close() error { return nil }

func dataFile(t *testing.T, content string) data.Options {
	path := filepath.Join(t.TempDir(), "data.json")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	o := data.DefaultOptions()
	o.Source, o.Paths = data.Files, []string{path}
	return o
}

const steps = `{"data":[{"INPUT0":[1,2,3,4]},{"INPUT0":[5,6,7,8]}],"validation_data":[{"OUTPUT0":[1,2,3,4]},{"OUTPUT0":[5,6,7,8]}]}`

func TestRun(t *testing.T) {
	t.Parallel()
	dir := models(t)
	for _, c := range []struct {
		name, model string
		setup       func(c *perf.Config)
	}{
		{"numbers", "numbers", func(c *perf.Config) { c.Data, c.Batches = dataFile(t, steps), []int{1, 2} }},
		{"text", "text", func(c *perf.Config) {
			c.Data = dataFile(t, `{"data":[{"INPUT0":{"content":["a","bc"],"shape":[2]}}],"validation_data":[{"OUTPUT0":{"content":["a","bc"],"shape":[2]}}]}`)
		}},
		{"shared memory", "numbers", func(c *perf.Config) { c.Data, c.Memory = dataFile(t, steps), perf.SystemMemory }},
		{"ensemble", "ensemble", func(c *perf.Config) {
			c.Data = dataFile(t, `{"data":[{"A":[1,2,3,4]}],"validation_data":[{"B":[1,2,3,4]}]}`)
		}},
		{"sequence", "sum", func(c *perf.Config) {
			c.Data = dataFile(t, `{"data":[[{"INPUT":[1]},{"INPUT":[2]}]],"validation_data":[[{"OUTPUT":[1]},{"OUTPUT":[3]}]]}`)
			c.Sequences.Variation = 0
		}},
		{"streaming", "repeat", func(c *perf.Config) {
			c.Streaming = true
			c.Data = dataFile(t, `{"data":[{"IN":{"content":[1,2,3],"shape":[3]},"DELAY":{"content":[0,0,0],"shape":[3]},"WAIT":[0]}],"validation_data":[{"OUT":[3],"IDX":[2]}]}`)
		}},
		{"streaming of one response", "numbers", func(c *perf.Config) { c.Streaming, c.Data = true, dataFile(t, steps) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "shared memory" && runtime.GOOS != "linux" {
				t.Skip("POSIX shared memory is a file only on Linux")
			}
			config := perf.DefaultConfig(c.model)
			config.RequestCount, config.Windows, config.Samples = 40, perf.CountWindows, 40
			config.Range = perf.Range{Start: 4, End: 4, Step: 1}
			config.Profile = true
			c.setup(&config)
			s, err := start(t, inProcessOptions{Repository: dir, Model: c.model, Streaming: config.Streaming})
			require.NoError(t, err)
			rep, err := perf.Run(t.Context(), config, perf.Deps{
				Dial: func(context.Context) (perf.Target, error) { return kept{s.(*inProcessTarget)}, nil },
			})
			require.NoError(t, err)
			require.Empty(t, rep.Settings.Protocol)
			require.Len(t, rep.Levels, len(config.Batches))
			for _, l := range rep.Levels {
				require.EqualValues(t, 40, l.Requests)
				require.NotNil(t, l.Server)
				require.NotZero(t, l.Server.Success.Count)
				require.Len(t, l.Profile.Requests, 40)
			}
			if c.name == "streaming" {
				require.Len(t, rep.Levels[0].Profile.Requests[0].Responses, 4, "with the empty final one")
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	dir := models(t)
	for want, o := range map[string]inProcessOptions{
		"model repository " + dir + " has no model 'other'":                {Repository: dir, Model: "other"},
		"model repository " + dir + " has no version 7 of model 'numbers'": {Repository: dir, Model: "numbers", Version: "7"},
		"failed to load model 'broken' version 1: ":                        {Repository: dir, Model: "broken"},
		"failed to find healthy inference server: ":                        {Repository: dir + "/none", Model: "m"},
	} {
		_, err := start(t, o)
		require.ErrorContains(t, err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := inProcessOptions{Repository: dir, Model: "numbers", Server: server.Default()}
	if s, err := startServer(ctx, o); err == nil { // the server may be ready first
		require.NoError(t, s.Close())
	}

	s, err := start(t, inProcessOptions{Repository: dir, Model: "failing"})
	require.NoError(t, err)
	_, err = perf.Run(t.Context(), perf.DefaultConfig("failing"), perf.Deps{
		Dial: func(context.Context) (perf.Target, error) { return kept{s.(*inProcessTarget)}, nil },
	})
	var failed *perf.LoadError
	require.ErrorAs(t, err, &failed)
	_, err = s.(perf.SharedMemory).SystemMemory(t.Context(), "x")
	require.ErrorContains(t, err, "Unable to find system shared memory region")
	require.ErrorContains(t, s.(perf.SharedMemory).RegisterCUDAMemory(t.Context(), client.CUDARegion{}), "a process cannot open its own memory")
	_, err = s.(*inProcessTarget).TraceSettings(t.Context(), "")
	require.ErrorContains(t, err, "does not support UpdateTraceSettings API")
}

// A request ends with its context, also when responses are still to come.
func TestContext(t *testing.T) {
	t.Parallel()
	s, err := start(t, inProcessOptions{Repository: models(t), Model: "repeat", Streaming: true})
	require.NoError(t, err)
	uint32s := func(v ...byte) tensor.Data {
		b := make([]byte, 4*len(v))
		for i := range v {
			b[4*i+1] = v[i] // times 256
		}
		return tensor.NewData(tensor.HeapBuffer(b))
	}
	req := &kserve.Request{ModelName: "repeat"}
	req.Inputs = []kserve.Tensor{
		{Name: "IN", DataType: tensor.Int32, Shape: tensor.Shape{2}, Data: uint32s(1, 1)},
		{Name: "DELAY", DataType: tensor.Uint32, Shape: tensor.Shape{2}, Data: uint32s(1, 1)},
		{Name: "WAIT", DataType: tensor.Uint32, Shape: tensor.Shape{1}, Data: uint32s(0)},
	}
	p, err := s.Prepare(req)
	require.NoError(t, err)
	defer p.Release()
	l, err := s.Dial(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, l.Do(ctx, p, &lane.Exchange{Keep: true}), context.DeadlineExceeded)
	x := lane.Exchange{Keep: true}
	require.NoError(t, l.Do(t.Context(), p, &x), "the lane goes on")
	require.Len(t, x.Responses, 3)
	require.True(t, x.EmptyFinal)
	require.NoError(t, l.Close())
	require.ErrorContains(t, l.Do(t.Context(), &lane.Prepared{}, &x), "prepared by another target")
}
