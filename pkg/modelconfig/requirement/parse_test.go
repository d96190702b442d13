package requirement

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
)

func TestInteger(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"7": 7, " +3.5x": 3, "-2": -2, "2147483647": 2147483647} {
		got, err := ParseInteger(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "-", "x1", "2147483648"} {
		_, err := ParseInteger(text)
		require.EqualError(t, err, "failed to convert '"+text+"' to integral number")
		require.Equal(t, status.InvalidArg, status.CodeOf(err))
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	got, err := ParseSize("8589934592")
	require.NoError(t, err)
	require.EqualValues(t, 8<<30, got)
	for _, text := range []string{"", "-1", "1x"} {
		_, err := ParseSize(text)
		require.EqualError(t, err, "failed to convert '"+text+"' to integral number")
	}
}

func TestBool(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"true": true, "ON": true, "1": true, "False": false, "off": false, "0": false} {
		got, err := ParseBool(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	_, err := ParseBool("yes")
	require.EqualError(t, err, "failed to convert 'yes' to boolean")
	require.Equal(t, status.InvalidArg, status.CodeOf(err))
}
