//go:build linux && cgo

package cuda

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// fake is a driver over testdata/fake.c, in a folder of its own.
type fake struct{ dir string }

var library = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "fake-cuda-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "fake.so")
	if err := compile(file, "testdata/fake.c", "-shared", "-fPIC"); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

func compile(to, from string, flags ...string) error {
	args := append([]string{"-O1", "-Wall", "-o", to, from}, flags...)
	out, err := exec.Command("cc", append(args, "-ldl")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func needCompiler(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("there is no C compiler: ", err)
	}
}

func newFake(t *testing.T) fake {
	t.Helper()
	needCompiler(t)
	code, err := library()
	require.NoError(t, err)
	f := fake{t.TempDir()}
	require.NoError(t, os.WriteFile(f.path(), code, 0o700))
	return f
}

func (f fake) path() string { return filepath.Join(f.dir, "libcuda.so.1") }

// fail makes a call return an error.
func (f fake) fail(t *testing.T, call string, with int) {
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, "fail-"+call), fmt.Append(nil, with), 0o600))
	t.Cleanup(func() { os.Remove(filepath.Join(f.dir, "fail-"+call)) })
}

// allocate is device memory of another process.
func (f fake) allocate(t *testing.T, name, content string) Handle {
	require.NoError(t, os.WriteFile(filepath.Join(f.dir, name), []byte(content), 0o600))
	return handleOf(name, 0)
}

func handleOf(name string, offset uint64) (h Handle) {
	copy(h[:], name)
	binary.LittleEndian.PutUint64(h[56:], offset)
	return h
}

func (f fake) content(t *testing.T, name string) string {
	b, err := os.ReadFile(filepath.Join(f.dir, name))
	require.NoError(t, err)
	return string(b)
}

// requireBalance checks that what was begun was ended.
func (f fake) requireBalance(t *testing.T, opened int) {
	t.Helper()
	n := map[string]int{}
	for line := range strings.Lines(f.content(t, "calls")) {
		n[strings.TrimSpace(line)]++
	}
	require.Equal(t, n["cuCtxPushCurrent_v2"], n["cuCtxPopCurrent_v2"], "contexts of threads")
	require.Equal(t, n["cuDevicePrimaryCtxRetain"], n["cuDevicePrimaryCtxRelease_v2"], "contexts of devices")
	require.Equal(t, opened, n["cuIpcCloseMemHandle"], "handles")
}

func TestMemory(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	d, err := open(f.path())
	require.NoError(t, err)
	h := f.allocate(t, "a", "0123456789")
	m, err := d.Open(1, h)
	require.NoError(t, err)
	require.EqualValues(t, 10, m.Size())
	got := make([]byte, 4)
	require.NoError(t, m.Read(got, 3))
	require.Equal(t, "3456", string(got))
	require.NoError(t, m.Write([]byte("xyz"), 7))
	require.Equal(t, "0123456xyz", f.content(t, "a"), "the other side sees it")
	require.NoError(t, m.Read(nil, 10))
	require.NoError(t, m.Write(nil, 10))
	for _, c := range []struct {
		offset uint64
		n      int
	}{{11, 0}, {10, 1}, {0, 11}, {math.MaxUint64, 1}, {math.MaxUint64 - 3, 4}} {
		require.ErrorIs(t, m.Read(make([]byte, c.n), c.offset), errOutside)
		require.ErrorIs(t, m.Write(make([]byte, c.n), c.offset), errOutside)
	}
	again, err := d.Open(1, h)
	require.NoError(t, err, "a handle may be opened twice")
	require.NoError(t, again.Close())
	require.NoError(t, m.Close())
	f.requireBalance(t, 2)
}

func TestAllocate(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	d, err := open(f.path())
	require.NoError(t, err)
	a := d.(Allocator)
	for _, device := range []int{-1, math.MaxInt, 2} {
		_, _, err = a.Allocate(device, 10)
		require.EqualError(t, err, "invalid device ordinal")
	}
	for _, call := range []string{"cuMemAlloc_v2", "cuIpcGetMemHandle"} {
		t.Run(call, func(t *testing.T) {
			f.fail(t, call, 1)
			_, _, err := a.Allocate(0, 10)
			require.EqualError(t, err, "invalid argument")
		})
	}
	m, h, err := a.Allocate(1, 10)
	require.NoError(t, err)
	require.EqualValues(t, 10, m.Size())
	require.NoError(t, m.Write([]byte("0123456789"), 0))
	require.ErrorIs(t, m.Write([]byte("0"), 10), errOutside)
	server, err := d.Open(1, h)
	require.NoError(t, err)
	got := make([]byte, 3)
	require.NoError(t, server.Read(got, 4))
	require.Equal(t, "456", string(got))
	require.NoError(t, server.Write([]byte("xyz"), 7))
	require.NoError(t, server.Close())
	require.NoError(t, m.Read(got, 7))
	require.Equal(t, "xyz", string(got))
	require.NoError(t, m.Close())
	f.requireBalance(t, 3) // with the memory that had no handle
}

func TestDevices(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	d, err := open(f.path())
	require.NoError(t, err)
	all, err := d.(Lister).Devices()
	require.NoError(t, err)
	require.Equal(t, []Device{
		{"GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf", "0000:65:00.0"},
		{"GPU-b0b1b2b3-b4b5-b6b7-b8b9-babbbcbdbebf", "0000:66:00.0"},
	}, all)
	f.fail(t, "cuDeviceGetPCIBusId", 1)
	_, err = d.(Lister).Devices()
	require.EqualError(t, err, "identify CUDA device 0: invalid argument")
}

// A driver that lacks the newer entry points still opens memory.
func TestOldDriver(t *testing.T) {
	t.Parallel()
	needCompiler(t)
	f := fake{t.TempDir()}
	require.NoError(t, compile(f.path(), "testdata/fake.c", "-shared", "-fPIC", "-DOLD"))
	d, err := open(f.path())
	require.NoError(t, err)
	_, err = d.(Lister).Devices()
	require.EqualError(t, err, "identify CUDA device 0: CUDA error 500")
	m, err := d.Open(0, f.allocate(t, "a", "0123"))
	require.NoError(t, err)
	require.NoError(t, m.Close())
}

// What a handle points to may begin inside of an allocation.
func TestHandleInsideAnAllocation(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	d, err := open(f.path())
	require.NoError(t, err)
	f.allocate(t, "a", "0123456789")
	m, err := d.Open(0, handleOf("a", 6))
	require.NoError(t, err)
	require.EqualValues(t, 4, m.Size())
	got := make([]byte, 4)
	require.NoError(t, m.Read(got, 0))
	require.Equal(t, "6789", string(got))
	require.ErrorIs(t, m.Read(got, 1), errOutside)
	require.NoError(t, m.Close())
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call   string
		code   int
		device int
		want   string
		closed int
	}{
		{"", 0, 2, "invalid device ordinal", 0},
		{"", 0, -1, "invalid device ordinal", 0},
		{"", 0, math.MaxInt, "invalid device ordinal", 0},
		{"cuDeviceGet", 101, 0, "invalid device ordinal", 0},
		{"cuCtxPushCurrent_v2", 201, 0, "invalid device context", 0},
		{"cuIpcOpenMemHandle_v2", 1, 0, "invalid argument", 0},
		{"cuMemGetAddressRange_v2", 777, 0, "CUDA error 777", 1},
	} {
		f := newFake(t)
		d, err := open(f.path())
		require.NoError(t, err)
		h := f.allocate(t, "a", "0123456789")
		if c.call != "" {
			f.fail(t, c.call, c.code)
		}
		_, err = d.Open(c.device, h)
		require.EqualError(t, err, c.want, "%+v", c)
		if c.call != "cuCtxPushCurrent_v2" { // which is called but does not push
			f.requireBalance(t, c.closed)
		}
	}
	f := newFake(t)
	d, err := open(f.path())
	require.NoError(t, err)
	f.fail(t, "cuDevicePrimaryCtxRetain", 1)
	_, err = d.Open(0, f.allocate(t, "a", "0"))
	require.EqualError(t, err, "invalid argument")
	require.NotContains(t, f.content(t, "calls"), "cuDevicePrimaryCtxRelease_v2")
	_, err = d.Open(0, handleOf("unknown", 0))
	require.EqualError(t, err, "invalid argument")
}

func TestCopiesFail(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	d, err := open(f.path())
	require.NoError(t, err)
	m, err := d.Open(0, f.allocate(t, "a", "0123456789"))
	require.NoError(t, err)
	buf := make([]byte, 5)
	for _, call := range []string{"cuMemcpyDtoHAsync_v2", "cuStreamSynchronize"} {
		t.Run(call, func(t *testing.T) {
			f.fail(t, call, 1)
			require.EqualError(t, m.Read(buf, 0), "invalid argument")
			require.Equal(t, make([]byte, 5), buf)
		})
	}
	for _, call := range []string{"cuMemcpyHtoDAsync_v2", "cuStreamSynchronize"} {
		t.Run("write "+call, func(t *testing.T) {
			f.fail(t, call, 1)
			require.EqualError(t, m.Write([]byte("abcde"), 0), "invalid argument")
			require.Equal(t, "0123456789", f.content(t, "a"))
		})
	}
	f.fail(t, "cuIpcCloseMemHandle", 201)
	require.EqualError(t, m.Close(), "invalid device context")
	f.requireBalance(t, 1)
}

func TestNoDriver(t *testing.T) {
	t.Parallel()
	_, err := open(filepath.Join(t.TempDir(), "libcuda.so.1"))
	require.ErrorIs(t, err, ErrNoDriver)
	require.ErrorContains(t, err, "cannot open shared object file")
	_, err = open("libc.so.6")
	require.ErrorIs(t, err, ErrNoDriver)
	require.ErrorContains(t, err, "cuInit", "an entry point that is not there")
	f := newFake(t)
	f.fail(t, "cuInit", 100)
	_, err = open(f.path())
	require.EqualError(t, err, "no CUDA driver: CUDA error 100")
	require.ErrorIs(t, err, ErrNoDriver)
}

// TestManyThreads copies from many goroutines, whose threads change.
func TestManyThreads(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	d, err := open(f.path())
	require.NoError(t, err)
	f.allocate(t, "a", strings.Repeat(".", 8*64))
	m, err := d.Open(0, handleOf("a", 0))
	require.NoError(t, err)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			mine, got := make([]byte, 64), make([]byte, 64)
			for k := range 50 {
				for i := range mine {
					mine[i] = byte(g + k)
				}
				own, err := d.Open(k%2, handleOf("a", uint64(g)*64))
				if err != nil || m.Write(mine, uint64(g)*64) != nil || own.Read(got, 0) != nil || string(got) != string(mine) || own.Close() != nil {
					t.Error("copy", g, k, err)
					return
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, m.Close())
	f.requireBalance(t, 8*50+1)
}
