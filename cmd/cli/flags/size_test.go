package flags_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/flags"
)

func TestParseSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{
		"": 0, "1": 1, "512B": 512, "2K": 2048, "1kB": 1000, "1.5 GiB": 3 << 29, "1GB": 1e9, "2T": 2 << 40,
	} {
		got, err := flags.Size(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"much", "-1", "0", "1X", "GiB", "1e30", "NaN"} {
		_, err := flags.Size(text)
		require.Error(t, err, text)
	}
}

func TestHeadroom(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{"": 256 << 20, "0": 0, "10 %": 100 << 20, "12.5%": 125 << 20, "1GiB": 1 << 30} {
		got, err := flags.Headroom(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got(1000<<20), text)
	}
	for _, text := range []string{"100", "-1", "much", "NaN"} {
		_, err := flags.Headroom(text)
		require.Error(t, err, text)
	}
}
