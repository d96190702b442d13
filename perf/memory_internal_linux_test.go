package perf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// family is one that no other process uses.
func family(t *testing.T) string {
	f, err := os.CreateTemp("/dev/shm", "triton_memory_test_")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.Remove(f.Name())) })
	require.NoError(t, f.Close())
	return filepath.Base(f.Name()) + "_"
}

func objects(t *testing.T, family string) []string {
	all, err := filepath.Glob("/dev/shm/" + family + "*")
	require.NoError(t, err)
	return all
}

func TestObject(t *testing.T) {
	t.Parallel()
	f := family(t)
	s, err := newSpace(f)
	require.NoError(t, err)
	o, err := s.Create(s.Name("a"), 10)
	require.NoError(t, err)
	require.Equal(t, "/"+s.Name("a"), o.Key())
	require.True(t, strings.HasPrefix(o.Key(), "/"+f))
	require.EqualValues(t, 10, o.Size())
	require.NoError(t, o.Write([]byte("0123456789"), 0))
	require.NoError(t, o.Write([]byte("xyz"), 7))
	got := make([]byte, 4)
	require.NoError(t, o.Read(got, 6))
	require.Equal(t, "6xyz", string(got))
	for _, at := range []uint64{7, 11, 1<<64 - 1} {
		require.ErrorContains(t, o.Read(got, at), "outside of shared memory")
		require.ErrorContains(t, o.Write(got, at), "outside of shared memory")
	}
	_, err = s.Create(s.Name("a"), 10)
	require.ErrorContains(t, err, "file exists")
	for _, size := range []uint64{0, 1 << 63} {
		_, err = s.Create(s.Name("b"), size)
		require.ErrorContains(t, err, "invalid size")
	}
	_, err = s.Create(s.Name("b"), 1<<60)
	require.ErrorContains(t, err, "unable to initialize shared-memory key", "more memory than there is")
	require.NoError(t, o.Close())
	require.NoError(t, o.Close(), "it is gone already")
	require.ErrorContains(t, o.Read(got, 0), "read shared memory")
	require.NoError(t, s.Close())
	require.Empty(t, objects(t, f))
}

func TestEnded(t *testing.T) {
	t.Parallel()
	f := family(t)
	s, err := newSpace(f)
	require.NoError(t, err)
	o, err := s.Create(s.Name("a"), 1)
	require.NoError(t, err)
	require.False(t, hasEnded(f, s.Name("a")), "this process runs")
	require.False(t, hasEnded(f, "other_"+s.Name("a")))
	require.False(t, hasEnded(f, f+"0123"), "no name of a space")
	ended := f + "01234567"
	for _, name := range []string{ended, ended + "_x", f + "89abcdef_y", f + "z"} {
		require.NoError(t, os.WriteFile("/dev/shm/"+name, []byte("x"), 0o600))
	}
	require.True(t, hasEnded(f, ended+"_gone"))
	require.NoError(t, removeEnded(f))
	require.ElementsMatch(t, []string{"/dev/shm" + o.Key(), "/dev/shm/" + s.Name("")[:len(f)+8], "/dev/shm/" + f + "z"}, objects(t, f))
	require.NoError(t, os.Remove("/dev/shm/"+f+"z"))
	require.NoError(t, o.Close())
	require.NoError(t, s.Close())
	require.True(t, hasEnded(f, s.Name("a")))
}
