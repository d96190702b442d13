//go:build !cgo || !(linux || darwin)

package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/backend"
)

func TestLoadWithoutCgo(t *testing.T) {
	t.Parallel()
	b := New(Search{})
	require.False(t, b.HasGPU())
	_, err := b.Load(t.Context(), backend.Spec{Name: "m"})
	require.ErrorIs(t, err, backend.ErrNoLibrary)
	require.ErrorContains(t, err, "CGO_ENABLED=1")
	require.Equal(t, status.Unsupported, status.CodeOf(err))
}
