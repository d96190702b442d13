package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDriftedEnsemble: an ensemble is not steady once a step has used another version than the
// fingerprint covers, nor is an ensemble over it.
func TestDriftedEnsemble(t *testing.T) {
	t.Parallel()
	leaf, other := &Loaded{}, &Loaded{}
	inner := &Loaded{parts: []*Loaded{leaf, leaf}}
	outer := &Loaded{parts: []*Loaded{leaf, inner}}
	for step, p := range outer.parts {
		outer.recordStep(step, p)
	}
	require.True(t, outer.steady())
	inner.recordStep(0, leaf)
	require.True(t, outer.steady())
	inner.recordStep(1, other)
	require.False(t, inner.steady())
	require.False(t, outer.steady())
	inner.recordStep(1, leaf)
	require.False(t, inner.steady(), "never again")
}
