package isolated

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Children get what engines need, and what the server is told to give them; no credentials.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	all := []string{
		"PATH=/bin", "CUDA_VISIBLE_DEVICES=1", "AWS_SECRET_ACCESS_KEY=s", "TRITON_CLOUD_CREDENTIAL_PATH=/c", "GOOGLE_APPLICATION_CREDENTIALS=/g",
		"GOMEMLIMIT=1GiB", "GODEBUG=x", "LC_ALL=C", "AZURE_STORAGE_KEY=k", "MY_ENGINE_HOME=/m", "LD_LIBRARY_PATH=/l", "broken", "=x",
	}
	needed := []string{"PATH=/bin", "CUDA_VISIBLE_DEVICES=1", "GOMEMLIMIT=1GiB", "GODEBUG=x", "LC_ALL=C", "LD_LIBRARY_PATH=/l"}
	require.ElementsMatch(t, needed, environment(all, nil))
	require.ElementsMatch(t, append(needed, "MY_ENGINE_HOME=/m"), environment(all, []string{"MY_*"}))
	require.ElementsMatch(t, all, environment(all, []string{"*"}))
	require.NotNil(t, environment(nil, nil), "nil would be the whole environment")
}

// The memory of all children is bounded together.
func TestGranted(t *testing.T) {
	t.Parallel()
	g := &granted{limit: 100}
	require.True(t, g.add(60))
	require.False(t, g.add(41))
	require.True(t, g.add(40))
	require.False(t, g.add(1))
	g.add(-60)
	require.True(t, g.add(60))
	unlimited := &granted{}
	require.True(t, unlimited.add(1<<50))
}
