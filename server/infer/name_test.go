package infer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
)

func TestCheckModelName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"m": "", "m.v2": "", "...": "", " m ": "", "..m": "",
		"":     "Model name cannot be empty. Please enter a valid name to deploy.",
		" \t":  "Model name cannot be empty. Please enter a valid name to deploy.",
		"..":   "invalid model name '..', model name must not contain path traversal characters",
		" ..":  "invalid model name ' ..', model name must not contain path traversal characters",
		"a/b":  "invalid model name 'a/b', model name must not contain path traversal characters",
		"../m": "invalid model name '../m', model name must not contain path traversal characters",
	} {
		err := CheckModelName(name)
		if want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.EqualError(t, err, want)
		require.Equal(t, status.InvalidArg, status.CodeOf(err))
	}
}

// TestParseVersion compares with the versions that Triton's server 2.51 accepts.
func TestParseVersion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"3": 3, " 3": 3, "+3": 3, "03": 3, "3x": 3, "0": 0, "9223372036854775807": 1<<63 - 1} {
		n, err := ParseVersion(text)
		require.NoError(t, err, text)
		require.Equal(t, want, n, text)
	}
	for _, text := range []string{"", "x", "+", "-", "x3", "9223372036854775808"} {
		_, err := ParseVersion(text)
		require.EqualError(t, err, "failed to get model version from specified version string '"+text+
			"' (details: stol), version should be an integral value > 0")
	}
	_, err := ParseVersion("-1")
	require.EqualError(t, err, "invalid model version specified '-1' , version should be an integral value > 0")
}
