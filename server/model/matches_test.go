package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDriftedEnsemble: an ensemble is not steady once a step has used another version than the
// fingerprint covers, nor is an ensemble over it.
func TestDriftedEnsemble(t *testing.T) {
	t.Parallel()
	leaf, other := &LoadedVersion{}, &LoadedVersion{}
	inner := &LoadedVersion{composing: []*LoadedVersion{leaf, leaf}}
	outer := &LoadedVersion{composing: []*LoadedVersion{leaf, inner}}
	for step, p := range outer.composing {
		outer.recordStep(step, p)
	}
	require.True(t, outer.matchesFingerprint())
	inner.recordStep(0, leaf)
	require.True(t, outer.matchesFingerprint())
	inner.recordStep(1, other)
	require.False(t, inner.matchesFingerprint())
	require.False(t, outer.matchesFingerprint())
	inner.recordStep(1, leaf)
	require.False(t, inner.matchesFingerprint(), "never again")
}
