package repository

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/invariant"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/repository/state"
)

func TestInfer(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"m/config.pbtxt": identity, "m/1/": ""})
	r, _, err := open(t, nil, dir)
	require.NoError(t, err)
	require.True(t, r.Ready())
	m, err := r.Model("m", "")
	require.NoError(t, err)
	resp, err := inferOnce(t, m)
	require.NoError(t, err)
	require.Equal(t, "1", resp.ModelVersion)
	require.Equal(t, tensor.Shape{4}, resp.Outputs[0].Shape)
	resp.Release()

	// Once the server ends, requests to a model that is still held get an error.
	r.Exit()
	require.False(t, r.Ready())
	require.True(t, r.Exiting())
	resp, err = inferOnce(t, m)
	require.NoError(t, err, "what was accepted is served until the models are closed")
	resp.Release()
	drained := make(chan error, 1)
	go func() { drained <- r.Drain(context.Background()) }()
	require.Eventually(t, m.(*state.Newest).Stopped, time.Minute, time.Millisecond)
	_, err = inferOnce(t, m)
	require.EqualError(t, err, "[request id: <id_unknown>] Server is stopping, scheduler for model has stopped accepting new inference requests")
	m.Release()
	require.NoError(t, <-drained)
	_, err = r.Model("m", "")
	require.Equal(t, status.Unavailable, status.CodeOf(err))
}

// TestInferAllocates counts the allocations of a request from the lookup to the response, on the
// caller's own goroutine.
func TestInferAllocates(t *testing.T) {
	dir := tree(t, map[string]string{"m/config.pbtxt": identity, "m/1/": ""})
	r, _, err := open(t, nil, dir)
	require.NoError(t, err)
	data := tensor.HeapBuffer(make([]byte, 16))
	ctx := t.Context()
	n := testing.AllocsPerRun(1000, func() {
		m, err := r.Model("m", "")
		if err != nil {
			panic(err)
		}
		req := infer.NewRequest()
		x := req.AddInput()
		x.Name, x.DataType, x.Shape = "INPUT0", tensor.Int32, append(x.Shape, 4)
		x.Data = tensor.SliceData(data, 0, 16)
		resp, err := m.Infer(ctx, req)
		if err != nil {
			panic(err)
		}
		resp.Release()
		req.Release()
		m.Release()
	})
	if !invariant.Enabled {
		require.LessOrEqual(t, n, 0.5)
	}
}

// TestBrokenModel: a model whose instances are all broken is not ready, and the index has the
// reason.
func TestBrokenModel(t *testing.T) {
	t.Parallel()
	broken := strings.Replace(identity, "identity", "fault", 1) + `parameters [
		{ key: "panic" value { string_value: "1" } }, { key: "restart_error" value { string_value: "no more" } } ]`
	r, _, err := open(t, nil, tree(t, map[string]string{"m/config.pbtxt": broken, "m/1/": ""}))
	require.NoError(t, err)
	ready, err := r.ModelReady("m", "")
	require.NoError(t, err)
	require.True(t, ready)
	require.True(t, r.Ready())
	for _, want := range []string{"broke down during execution", "no working instance left"} {
		m, err := r.Model("m", "")
		require.NoError(t, err)
		q := infer.NewRequest()
		in := q.AddInput()
		in.Name, in.DataType, in.Shape = "INPUT0", tensor.Int32, append(in.Shape, 4)
		in.Data = tensor.NewData(tensor.HeapBuffer(make([]byte, 16)))
		_, err = m.Infer(t.Context(), q)
		require.ErrorContains(t, err, want)
		q.Release()
		m.Release()
	}
	ready, err = r.ModelReady("m", "")
	require.NoError(t, err)
	require.False(t, ready)
	require.False(t, r.Ready())
}
