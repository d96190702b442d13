package local_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/client"
	"triton/pkg/status"
	"triton/server"
	"triton/server/backend"
	"triton/server/backend/onnx"
	"triton/server/fake"
	"triton/server/local"
	"triton/server/repository"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// caller is what a server in this process and a client of another one have in common.
type caller interface {
	Infer(ctx context.Context, req *client.Request) (*client.Response, error)
	ModelReady(ctx context.Context, model, version string) (bool, error)
	ModelMetadata(ctx context.Context, model, version string) (*client.ModelMetadata, error)
	ModelConfig(ctx context.Context, model, version string) (*client.ModelConfig, error)
	Statistics(ctx context.Context, model, version string) ([]*client.ModelStatistics, error)
	Index(ctx context.Context, readyOnly bool) ([]*client.IndexEntry, error)
	Load(ctx context.Context, model string, o client.Override) error
	Unload(ctx context.Context, model string, dependents bool) error
}

var (
	_ caller = (*local.Server)(nil)
	_ caller = (*client.Client)(nil)
)

// One request through this process and over both protocols has one answer.
func TestAnswersAreThoseOfAClient(t *testing.T) {
	models := map[string]fake.Model{"all": {
		Config: `max_batch_size: 4
input [ { name: "X" data_type: TYPE_FP32 dims: [ 2 ] }, { name: "S" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "X" data_type: TYPE_FP32 dims: [ 2 ] }, { name: "S" data_type: TYPE_STRING dims: [ 1 ] } ]`,
		Answer: fake.Unary(func(_ context.Context, req *client.Request) (*client.Response, error) {
			if req.Parameters["fail"] == true {
				return nil, status.New(status.Unavailable, "not now")
			}
			return &client.Response{Parameters: req.Parameters, Outputs: req.Inputs}, nil
		}),
	}}
	s := fake.New(t, models)
	http, err := client.New(client.Options{Protocol: client.HTTP, Address: s.HTTP()})
	require.NoError(t, err)
	defer http.Close()
	grpc, err := client.New(client.Options{Protocol: client.GRPC, Address: s.GRPC()})
	require.NoError(t, err)
	defer grpc.Close()
	inputs := []client.Tensor{client.NewTensor("X", []int64{1, 2}, float32(3), 9), client.NewStrings("S", []int64{1, 1}, "text")}
	for name, req := range map[string]*client.Request{
		"parameters":      {Model: "all", ID: "7", Inputs: inputs, Parameters: map[string]any{"a": "x", "b": true, "c": int64(3)}},
		"one output":      {Model: "all", Version: "1", Inputs: inputs, Outputs: []client.RequestedOutput{{Name: "S"}}},
		"classes":         {Model: "all", Inputs: inputs, Outputs: []client.RequestedOutput{{Name: "X", Classes: 1}}},
		"the model fails": {Model: "all", Inputs: inputs, Parameters: map[string]any{"fail": true}},
		"no model":        {Model: "none", Inputs: inputs},
		"no version":      {Model: "all", Version: "9", Inputs: inputs},
		"a wrong shape":   {Model: "all", Inputs: []client.Tensor{client.NewTensor("X", []int64{1, 3}, float32(3), 9, 1), inputs[1]}},
		"a missing input": {Model: "all", Inputs: inputs[:1]},
		"a wrong type":    {Model: "all", Inputs: []client.Tensor{client.NewTensor("X", []int64{1, 2}, int32(3), 9), inputs[1]}},
	} {
		t.Run(name, func(t *testing.T) {
			want, wantErr := grpc.Infer(t.Context(), req)
			for _, c := range []caller{s, http} {
				got, err := c.Infer(t.Context(), req)
				if wantErr != nil {
					require.EqualError(t, err, wantErr.Error())
					continue
				}
				require.NoError(t, err)
				require.Equal(t, want.Outputs, got.Outputs)
				require.Equal(t, want.Parameters, got.Parameters)
				require.Equal(t, []string{want.Model, want.Version, want.ID}, []string{got.Model, got.Version, got.ID})
			}
		})
	}
}

// What a client of the process may do wrong is an error.
func TestRefusals(t *testing.T) {
	s, end := start()
	defer end()
	x := client.NewTensor("INPUT0", []int64{1, 1}, float32(1))
	for text, req := range map[string]*client.Request{
		"input 'INPUT0' has the unknown data type 'FLOAT'":                {Model: "echo", Inputs: []client.Tensor{{Name: "INPUT0", Datatype: "FLOAT"}}},
		`parameter "p": the value is a []int`:                             {Model: "echo", Inputs: []client.Tensor{x}, Parameters: map[string]any{"p": []int{1}}},
		"model 'count' may send any number of responses: use Responses":   {Model: "count"},
		"Unable to find shared memory region: 'r'":                        {Model: "echo", Inputs: []client.Tensor{{Name: "INPUT0", Datatype: "FP32", Shape: []int64{1, 1}, Region: client.Region{Name: "r", Size: 4}}}},
		"output 'OUTPUT0' cannot be both in shared memory and classified": {Model: "echo", Inputs: []client.Tensor{x}, Outputs: []client.RequestedOutput{{Name: "OUTPUT0", Classes: 1, Region: client.Region{Name: "r"}}}},
		"correlation ID": {Model: "echo", Inputs: []client.Tensor{x}, Sequence: client.Sequence{Text: strings.Repeat("x", 200)}},
	} {
		_, err := s.Infer(t.Context(), req)
		require.ErrorContains(t, err, text)
	}
	for _, err := range s.Responses(t.Context(), &client.Request{Model: "none"}) {
		require.ErrorContains(t, err, "none")
	}
}

func TestAdministration(t *testing.T) {
	folder := folderOfModels()
	defer os.RemoveAll(folder)
	o := local.Options()
	o.Repositories = []string{folder}
	o.Backends = server.NewBackends(onnx.Search{})
	o.Models.Control = repository.ControlExplicit
	s, err := local.Start(t.Context(), o)
	require.NoError(t, err)
	defer s.Close()
	ready, err := s.ModelReady(t.Context(), "echo", "")
	require.NoError(t, err)
	require.False(t, ready)
	require.NoError(t, s.Load(t.Context(), "echo", client.Override{}))
	ready, err = s.ModelReady(t.Context(), "echo", "1")
	require.NoError(t, err)
	require.True(t, ready)
	m, err := s.ModelMetadata(t.Context(), "echo", "")
	require.NoError(t, err)
	require.Equal(t, "INPUT0", m.GetInputs()[0].GetName())
	c, err := s.ModelConfig(t.Context(), "echo", "")
	require.NoError(t, err)
	require.EqualValues(t, 8, c.GetMaxBatchSize())
	require.NoError(t, s.Load(t.Context(), "echo", client.Override{Config: `{"backend":"identity","max_batch_size":2,
		"input":[{"name":"INPUT0","data_type":"TYPE_FP32","dims":[1]}],"output":[{"name":"OUTPUT0","data_type":"TYPE_FP32","dims":[1]}]}`}))
	c, err = s.ModelConfig(t.Context(), "echo", "")
	require.NoError(t, err)
	require.EqualValues(t, 2, c.GetMaxBatchSize())
	stats, err := s.Statistics(t.Context(), "echo", "")
	require.NoError(t, err)
	require.Len(t, stats, 1)
	index, err := s.Index(t.Context(), true)
	require.NoError(t, err)
	require.Len(t, index, 1)
	require.NoError(t, s.Unload(t.Context(), "echo", false))
	require.ErrorContains(t, s.Load(t.Context(), "none", client.Override{}), "none")
	require.NoError(t, s.Close())
	_, err = s.Infer(t.Context(), &client.Request{Model: "echo"})
	require.Error(t, err)
}

// A start that fails leaves nothing behind.
func TestStartFails(t *testing.T) {
	o := local.Options()
	o.Repositories = []string{t.TempDir() + "/none"}
	o.Backends = backend.Set{}
	_, err := local.Start(t.Context(), o)
	require.ErrorContains(t, err, "none")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	o.Repositories = []string{t.TempDir()}
	s, err := local.Start(ended, o)
	if err == nil { // it was quicker
		require.NoError(t, s.Close())
	}
}

// A loop that ends early cancels its request; so does the end of its context.
func TestResponsesEndEarly(t *testing.T) {
	cancelled := make(chan error, 2)
	s := fake.New(t, map[string]fake.Model{"endless": {
		Config: `model_transaction_policy { decoupled: true }
input { name: "X" data_type: TYPE_INT32 dims: [ 1 ] } output { name: "X" data_type: TYPE_INT32 dims: [ 1 ] }`,
		Answer: func(ctx context.Context, req *client.Request, send func(*client.Response) error) error {
			for ctx.Err() == nil {
				if err := send(&client.Response{Outputs: req.Inputs}); err != nil {
					return err
				}
				time.Sleep(time.Millisecond)
			}
			cancelled <- ctx.Err()
			return ctx.Err()
		},
	}})
	req := &client.Request{Model: "endless", Inputs: []client.Tensor{client.NewTensor("X", []int64{1}, int32(1))}}
	n := 0
	for _, err := range s.Responses(t.Context(), req) {
		require.NoError(t, err)
		if n++; n == 3 {
			break
		}
	}
	require.ErrorIs(t, <-cancelled, context.Canceled)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range s.Responses(ctx, req) {
		cancel()
		last = err
	}
	require.Error(t, last)
	require.Error(t, <-cancelled)
}

// A loop that is too slow ends its request, not the memory.
func TestSlowLoop(t *testing.T) {
	if testing.Short() {
		t.Skip("needs several hundred MB")
	}
	const size = 64 << 20
	sent := make(chan bool)
	s := fake.New(t, map[string]fake.Model{"large": {
		Config: `model_transaction_policy { decoupled: true }
input { name: "X" data_type: TYPE_UINT8 dims: [ -1 ] } output { name: "X" data_type: TYPE_UINT8 dims: [ -1 ] }`,
		Answer: func(_ context.Context, _ *client.Request, send func(*client.Response) error) error {
			defer close(sent)
			out := client.Tensor{Name: "X", Datatype: "UINT8", Shape: []int64{size}, Data: make([]byte, size)}
			for range 6 {
				if err := send(&client.Response{Outputs: []client.Tensor{out}}); err != nil {
					return err
				}
			}
			return nil
		},
	}})
	var last error
	n := 0
	for _, err := range s.Responses(t.Context(), &client.Request{Model: "large", Inputs: []client.Tensor{client.NewTensor("X", []int64{1}, uint8(1))}}) {
		if n == 0 {
			<-sent
		}
		n++
		last = err
	}
	require.ErrorContains(t, last, "reads the stream too slowly")
	require.Less(t, n, 6)
}
