package kserve

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
)

func TestForward(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"sequence_id", "sequence_start", "sequence_end", "priority", "timeout", "headers", "binary_data_output",
		"triton_", "triton_enable_empty_final_response",
	} {
		var r Request
		err := r.Forward(name, "x")
		require.EqualError(t, err, "Header '"+name+"' is reserved for Triton usage and cannot be forwarded.")
		require.Equal(t, status.InvalidArg, status.From(err).Code)
		require.Empty(t, r.Parameters)
	}
	var r Request
	for _, name := range []string{"Priority", "header", "triton-x", "x_triton_", ""} {
		require.NoError(t, r.Forward(name, name+"?"))
		require.Equal(t, Parameter{Name: name, Kind: ParamString, String: name + "?"}, r.Parameters[len(r.Parameters)-1])
	}
}
