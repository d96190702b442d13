package flags

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeaders(t *testing.T) {
	t.Parallel()
	h, err := Headers([]string{"a:b", " Authorization : Bearer x:y ", "empty:"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "b", "Authorization": "Bearer x:y", "empty": ""}, h)
	for _, text := range []string{"secret", ":secret", "", "  : secret"} {
		_, err := Headers([]string{"a:b", text})
		require.EqualError(t, err, "--header number 2 is not NAME:VALUE")
	}
}
