package tensor_test

import (
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"triton/pkg/tensor"
)

func shareable(t *testing.T) *tensor.Pool {
	t.Helper()
	source, err := tensor.NewMemfd()
	if err != nil {
		t.Skip(err)
	}
	p := tensor.NewPoolOf(tensor.PoolOptions{Source: source})
	t.Cleanup(func() { require.Zero(t, p.Outstanding()) })
	return p
}

// read returns the bytes that another process maps for a shared buffer.
func read(t *testing.T, b *tensor.Buffer) []byte {
	t.Helper()
	file, offset, ok := b.Shared()
	require.True(t, ok)
	got := make([]byte, b.Len())
	_, err := file.ReadAt(got, offset)
	require.NoError(t, err)
	return got
}

func TestSharedMemory(t *testing.T) {
	t.Parallel()
	p := shareable(t)
	var files []*os.File
	for _, n := range []int{1, 300, 4096, 1 << 20, 3 << 20} {
		for _, at := range []int{0, 7} {
			b, err := p.TryGetAligned(n, at)
			require.NoError(t, err)
			other := p.Get(n)
			copy(b.Bytes(), "first")
			copy(other.Bytes(), "other")
			b.Bytes()[n-1] = 'z'
			require.Equal(t, b.Bytes(), read(t, b), n)
			b.Truncate(0)
			file, _, ok := b.Shared()
			require.True(t, ok)
			files = append(files, file)
			b.Release()
			other.Release()
		}
	}
	for _, f := range files {
		require.Same(t, files[0], f, "one descriptor for all")
	}
	private := tensor.NewPool().Get(10)
	_, _, ok := private.Shared()
	require.False(t, ok)
	private.Release()
	_, _, ok = tensor.HeapBuffer(nil).Shared()
	require.False(t, ok)
}

// Released memory returns to the system. Other processes that still map the file read
// zeros there.
func TestSharedMemoryIsUnmapped(t *testing.T) {
	t.Parallel()
	p := shareable(t)
	b := p.Get(70 << 20) // of no class: unmapped at once
	for i := 0; i < b.Len(); i += 4096 {
		b.Bytes()[i] = 1
	}
	file, offset, _ := b.Shared()
	view, err := unix.Mmap(int(file.Fd()), offset, 4096, unix.PROT_READ, unix.MAP_SHARED)
	require.NoError(t, err)
	require.EqualValues(t, 1, view[0])
	require.GreaterOrEqual(t, held(t, file), int64(70<<20))
	b.Release()
	require.Zero(t, view[0])
	require.Less(t, held(t, file), int64(1<<20))
	require.NoError(t, unix.Munmap(view))
	require.Zero(t, p.Bytes())
	again := p.Get(70 << 20)
	_, second, _ := again.Shared()
	require.Greater(t, second, offset, "no range is used twice")
	again.Release()
}

// held returns how many bytes of memory a file has.
func held(t *testing.T, f *os.File) int64 {
	t.Helper()
	var s unix.Stat_t
	require.NoError(t, unix.Fstat(int(f.Fd()), &s))
	return s.Blocks * 512
}

func TestSharedMemoryCannotBeTakenAway(t *testing.T) {
	t.Parallel()
	p := shareable(t)
	b := p.Get(4096)
	file, _, _ := b.Shared()
	require.ErrorIs(t, file.Truncate(0), unix.EPERM)
	_, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_GROW)
	require.ErrorIs(t, err, unix.EPERM)
	b.Release()
}

// A child may enlarge the file, which only costs address space.
func TestSharedMemoryIsEnlarged(t *testing.T) {
	t.Parallel()
	p := shareable(t)
	small := p.Get(4096)
	file, _, _ := small.Shared()
	require.NoError(t, file.Truncate(1<<30+1))
	large := p.Get(70 << 20)
	_, offset, ok := large.Shared()
	require.True(t, ok)
	require.Greater(t, offset, int64(1<<30))
	small.Release()
	large.Release()
}

func TestSharedMemoryConcurrent(t *testing.T) {
	t.Parallel()
	p := shareable(t)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				b := p.Get(1 + (g*977+i*13131)%(1<<16))
				b.Bytes()[0] = byte(g)
				file, offset, ok := b.Shared()
				var got [1]byte
				if _, err := file.ReadAt(got[:], offset); !ok || err != nil || got[0] != byte(g) {
					t.Errorf("at %d: %d, %v", offset, got[0], err)
				}
				b.Release()
			}
		})
	}
	wg.Wait()
}
