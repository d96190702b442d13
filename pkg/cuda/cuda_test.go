package cuda_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/cuda"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseHandle(t *testing.T) {
	t.Parallel()
	b := bytes.Repeat([]byte("ab"), 32)
	h, ok := cuda.ParseHandle(b)
	require.True(t, ok)
	require.Equal(t, b, h[:])
	for _, n := range []int{0, 1, 63, 65, 128} {
		_, ok := cuda.ParseHandle(make([]byte, n))
		require.False(t, ok, n)
	}
}

// On a machine with a driver this starts the real one, elsewhere it shows that a
// missing library is an error and no crash.
func TestRealOpen(t *testing.T) {
	t.Parallel()
	d, err := cuda.Open()
	if err != nil {
		require.ErrorIs(t, err, cuda.ErrNoDriver)
		t.Skip(err)
	}
	_, err = d.Open(0, cuda.Handle{})
	require.Error(t, err, "a handle that no process exported")
	require.False(t, errors.Is(err, cuda.ErrNoDriver))
	_, err = d.Open(1000, cuda.Handle{})
	require.Error(t, err, "a device that is not there")
}
