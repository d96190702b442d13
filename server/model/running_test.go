package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLastUser: the last version that is closed closes what serves, also if the close of another one was
// called again, before or after its end.
func TestLastUser(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(r *running, v *LoadedVersion){
		"once":             func(*running, *LoadedVersion) {},
		"again afterwards": func(r *running, v *LoadedVersion) { require.False(t, r.retire(v)) },
		"at the same time": func(r *running, v *LoadedVersion) { r.leave(v) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := &LoadedVersion{}, &LoadedVersion{}
			r := newRunning(before)
			r.share(after)
			require.False(t, r.retire(before), "the other one serves")
			require.False(t, r.retire(before), "it may be called again")
			r.leave(before)
			again(r, before)
			require.True(t, r.retire(after))
			require.True(t, r.retire(after), "it may be called again")
		})
	}
}

// TestLastUserOfSeveral: versions that are closed at the same time do not wait for each other.
func TestLastUserOfSeveral(t *testing.T) {
	t.Parallel()
	before, after := &LoadedVersion{}, &LoadedVersion{}
	r := newRunning(before)
	r.share(after)
	require.False(t, r.retire(before))
	require.True(t, r.retire(after), "the other one is being closed too")
	r.leave(before)
	require.True(t, r.retire(after))
}
