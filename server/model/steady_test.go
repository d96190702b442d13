package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnEnsembleThatStrays: a request that has met another version of a part than
// the one that the fingerprint is made of keeps no answer, nor does an ensemble of
// that ensemble.
func TestAnEnsembleThatStrays(t *testing.T) {
	t.Parallel()
	leaf, other := &Loaded{}, &Loaded{}
	inner := &Loaded{parts: []*Loaded{leaf, leaf}}
	outer := &Loaded{parts: []*Loaded{leaf, inner}}
	for step, p := range outer.parts {
		outer.met(step, p)
	}
	require.True(t, outer.steady())
	inner.met(0, leaf)
	require.True(t, outer.steady())
	inner.met(1, other)
	require.False(t, inner.steady())
	require.False(t, outer.steady())
	inner.met(1, leaf)
	require.False(t, inner.steady(), "never again")
}
