package model

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// TestEnginesKnowTheCapability: cc_model_filenames needs it.
func TestEnginesKnowTheCapability(t *testing.T) {
	t.Parallel()
	b := NewBuilder(Options{Capability: func(int) string { return "8.6" }})
	spec := b.spec(&LoadedVersion{}, modelconfig.New("", &inferencepb.ModelConfig{}), Source{Number: 1}, foundBackend{})
	require.Equal(t, "8.6", spec.Capability(0))
}
