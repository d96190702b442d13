package perf

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/process"
	"triton/perf"
	"triton/perf/data"
	"triton/pkg/tensor"
)

func TestShapeHint(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	missing := &data.DynamicShapeError{Input: data.Tensor{Name: "ids", Shape: tensor.Shape{-1, 2}}}
	err := exitResult(process.Process{Stderr: &errs}, newOptions(), nil, &perf.SetupError{What: "Failed to init manager inputs", Err: missing})
	require.Equal(t, &process.ExitError{Code: failed}, err)
	require.Equal(t, "error: Failed to init manager inputs: input ids contains dynamic shape, provide shapes to send along with the request\n\n"+
		"Give its shape without the batch dimension, such as --shape ids:1,2\n\n", errs.String())
}
