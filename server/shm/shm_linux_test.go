package shm_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/shm"
)

// object makes a POSIX object of this test and returns its key.
func object(t testing.TB, size int64) string {
	t.Helper()
	f, err := os.CreateTemp("/dev/shm", "triton_shm_test_*")
	require.NoError(t, err)
	require.NoError(t, f.Truncate(size))
	require.NoError(t, f.Close())
	t.Cleanup(func() { os.Remove(f.Name()) })
	return strings.TrimPrefix(f.Name(), "/dev/shm")
}

func manager(t testing.TB) *shm.Manager {
	m := shm.New(shm.Options{Allow: true})
	t.Cleanup(func() {
		require.NoError(t, m.Close())
		all, err := m.SystemStatus("")
		require.NoError(t, err)
		require.Empty(t, all, "regions left")
	})
	return m
}

func TestRegister(t *testing.T) {
	t.Parallel()
	m := manager(t)
	key := object(t, 8192)
	require.NoError(t, m.RegisterSystem("taken", key, 0, 64))
	const max = math.MaxUint64
	for _, c := range []struct {
		name, key    string
		offset, size uint64
		code         status.Code
		text         string
	}{
		{"a", "", 0, 8, status.InvalidArg, "cannot register shared memory region 'a' - invalid shm key ''"},
		{"a", "//", 0, 8, status.InvalidArg, "cannot register shared memory region 'a' - invalid shm key '//'"},
		{"a", "/triton_python_backend_shm_region_7", 0, 8, status.InvalidArg, "cannot register shared memory region 'a' with key " +
			"'/triton_python_backend_shm_region_7' as the key contains the reserved prefix 'triton_python_backend_shm_region_'"},
		{"taken", key, 0, 8, status.AlreadyExists, "shared memory region 'taken' already in manager"},
		{"taken", "/none", 0, 8, status.AlreadyExists, "shared memory region 'taken' already in manager"},
		{"a", "/triton_none", 0, 8, status.Internal, "Unable to open shared memory region: '/triton_none'"},
		{"a", "/../../etc/passwd", 0, 8, status.Internal, "Unable to open shared memory region: '/../../etc/passwd'"},
		{"a", ".", 0, 8, status.Internal, "Unable to open shared memory region: '.'"},
		{"a", "a\x00b", 0, 8, status.Internal, "Unable to open shared memory region: 'a\x00b'"},
		{"a", key, 0, 8193, status.InvalidArg, "failed to register shared memory region 'a': invalid args"},
		{"a", key, 8192, 1, status.InvalidArg, "failed to register shared memory region 'a': invalid args"},
		{"a", key, max, 1, status.InvalidArg, "failed to register shared memory region 'a': invalid args"},
		{"a", key, 1, max, status.InvalidArg, "failed to register shared memory region 'a': invalid args"},
		{"a", key, 12, 8, status.InvalidArg, "failed to register shared memory region 'a': unable to process address spaceInvalid argument"},
		{"a", key, 0, 0, status.InvalidArg, "failed to register shared memory region 'a': unable to process address spaceInvalid argument"},
	} {
		requireCode(t, m.RegisterSystem(c.name, c.key, c.offset, c.size), c.code, c.text, fmt.Sprintf("%+v", c))
	}
	require.NoError(t, m.RegisterSystem("a", key, 4096, 4096), "a failed one leaves the name free")
	require.NoError(t, m.RegisterSystem("", strings.TrimPrefix(key, "/"), 0, 1))
	all, err := m.SystemStatus("")
	require.NoError(t, err)
	require.Equal(t, []shm.SystemRegion{{"", key[1:], 0, 1}, {"a", key, 4096, 4096}, {"taken", key, 0, 64}}, all)
}

// A child can map a region of a client's as it maps memory of the pool.
func TestRegionsAreShared(t *testing.T) {
	t.Parallel()
	m, key := manager(t), object(t, 8192)
	require.NoError(t, m.RegisterSystem("a", key, 4096, 100))
	s, err := m.Find("a", 10, 5)
	require.NoError(t, err)
	copy(s.Bytes(), "hello")
	require.Zero(t, s.Buffer.Location())
	file, offset, ok := s.Buffer.Shared()
	require.True(t, ok)
	got := make([]byte, s.N)
	_, err = file.ReadAt(got, offset+int64(s.Off))
	require.NoError(t, err)
	require.Equal(t, "hello", string(got))
	s.Buffer.Release()
}

func TestALinkIsNoObject(t *testing.T) {
	t.Parallel()
	key := object(t, 64)
	require.NoError(t, os.Symlink("/dev/shm"+key, "/dev/shm"+key+"_link"))
	defer os.Remove("/dev/shm" + key + "_link")
	require.EqualError(t, manager(t).RegisterSystem("a", key+"_link", 0, 64), "Unable to open shared memory region: '"+key+"_link'")
}

func TestFind(t *testing.T) {
	t.Parallel()
	m := manager(t)
	key := object(t, 8192)
	require.NoError(t, m.RegisterSystem("r", key, 4096, 100))
	require.NoError(t, os.WriteFile("/dev/shm"+key, append(make([]byte, 4096), "0123456789"...), 0o600))
	require.NoError(t, os.Truncate("/dev/shm"+key, 8192))
	const (
		offsetText = "Invalid offset for shared memory region: 'r'"
		sizeText   = "Invalid offset + byte size for shared memory region: 'r'"
	)
	for _, c := range []struct {
		offset, size uint64
		text         string
	}{
		{0, 100, ""},
		{3, 4, ""},
		{99, 1, ""},
		{99, 0, ""},
		{0, 0, sizeText},
		{0, 101, sizeText},
		{99, 2, sizeText},
		{100, 0, offsetText},
		{100, 1, offsetText},
		{math.MaxUint64, 1, offsetText},
		{0, math.MaxUint64, sizeText},
		{2, math.MaxUint64, "Integer overflow detected: byte_size (18446744073709551615) + offset (2) exceeds maximum value (18446744073709551615) for region 'r'"},
	} {
		s, err := m.Find("r", c.offset, c.size)
		if c.text != "" {
			requireCode(t, err, status.InvalidArg, c.text, fmt.Sprintf("%+v", c))
			continue
		}
		require.NoError(t, err, "%+v", c)
		require.Len(t, s.Bytes(), int(c.size))
		if c.offset == 3 {
			require.Equal(t, "3456", string(s.Bytes()))
		}
		s.Buffer.Release()
	}
	_, err := m.Find("q", 0, 1)
	requireCode(t, err, status.NotFound, "Unable to find shared memory region: 'q'", "")
}

// A region in use keeps its memory and its name until the last request is done.
func TestUnregisterWaitsForTheLastUse(t *testing.T) {
	t.Parallel()
	m := manager(t)
	key := object(t, 4096)
	require.NoError(t, m.RegisterSystem("r", key, 0, 4096))
	require.NoError(t, m.RegisterSystem("other", object(t, 64), 0, 64))
	s, err := m.Find("r", 0, 11)
	require.NoError(t, err)
	require.NoError(t, m.UnregisterSystem("r"))
	require.NoError(t, m.UnregisterSystem("r"), "again")
	require.NoError(t, m.UnregisterSystem("unknown"))
	copy(s.Bytes(), "still there")
	later, err := m.Find("r", 0, 11)
	require.NoError(t, err)
	require.Equal(t, "still there", string(later.Bytes()))
	later.Buffer.Release()
	require.EqualError(t, m.RegisterSystem("r", key, 0, 4096), "shared memory region 'r' already in manager")
	all, err := m.SystemStatus("r")
	require.NoError(t, err)
	require.Len(t, all, 1)
	s.Buffer.Release()
	_, err = m.Find("r", 0, 11)
	require.EqualError(t, err, "Unable to find shared memory region: 'r'")
	_, err = m.SystemStatus("r")
	requireCode(t, err, status.NotFound, "Unable to find system shared memory region: 'r'", "")
	require.NoError(t, m.RegisterSystem("r", key, 0, 4096))
	s, err = m.Find("r", 0, 5)
	require.NoError(t, err)
	require.Equal(t, "still", string(s.Bytes()), "the object keeps what was written")
	require.NoError(t, m.UnregisterSystem(""))
	s.Buffer.Release()
}

// Regions that show the same bytes are copied, because the server could not detect that an
// output in one changes an input in the other.
func TestRegionsOverOneObject(t *testing.T) {
	t.Parallel()
	m := manager(t)
	key := object(t, 3*4096)
	stable := func(name string, offset, size uint64) bool {
		require.NoError(t, m.RegisterSystem(name, key, offset, size))
		s, err := m.Find(name, 1, 0)
		require.NoError(t, err)
		defer s.Buffer.Release()
		return s.Buffer.Stable()
	}
	require.True(t, stable("first", 0, 4100))
	require.True(t, stable("third page", 8192, 10))
	require.False(t, stable("second page", 4096, 10))
	require.False(t, stable("all", 0, 3*4096))
}

// An object that was made smaller is found before its memory is touched. Touching its missing
// pages, by Go code of any goroutine or by C, loses the region and nothing else.
func TestAnObjectThatShrinks(t *testing.T) {
	t.Parallel()
	m := manager(t)
	key := object(t, 3*4096)
	require.NoError(t, m.RegisterSystem("r", key, 0, 3*4096))
	s, err := m.Find("r", 0, 3*4096)
	require.NoError(t, err)
	defer s.Buffer.Release()
	require.NoError(t, os.Truncate("/dev/shm"+key, 4096))
	_, err = m.Find("r", 4096, 1)
	requireCode(t, err, status.Internal, "Invalid shared memory region: '"+key+"'", "")
	ok, err := m.Find("r", 0, 4096)
	require.NoError(t, err)
	ok.Buffer.Release()
	d := tensor.SliceData(s.Buffer, s.Off, s.N)
	defer d.Release()
	require.NoError(t, d.Lost(), "not touched yet")
	lost := "shared memory region 'r' is lost: its object '" + key +
		"' became smaller while it was used, or there was no memory for its pages. Register the region again."
	requireCode(t, tensor.CopyShared(make([]byte, s.N), &d), status.InvalidArg, lost, "reading")
	require.Equal(t, make([]byte, s.N), s.Bytes(), "zeros took its place")
	_, err = m.Find("r", 0, 1)
	requireCode(t, err, status.InvalidArg, lost, "later requests")
	_, err = m.SystemStatus("r")
	requireCode(t, err, status.InvalidArg, lost, "status")
	all, err := m.SystemStatus("")
	require.NoError(t, err)
	require.Empty(t, all)

	require.NoError(t, m.RegisterSystem("r", key, 0, 4096), "it can be registered while it is in use")
	again, err := m.Find("r", 0, 4096)
	require.NoError(t, err)
	defer again.Buffer.Release()
	require.NoError(t, os.Truncate("/dev/shm"+key, 0))
	again.Bytes()[17] = 1
	require.Error(t, again.Buffer.Lost(), "writing")
	require.NoError(t, m.UnregisterSystem("r"))
	_, err = m.Find("r", 0, 1)
	requireCode(t, err, status.InvalidArg, lost, "unregistered, but in use")
}

// Objects shrink while many goroutines read and write them: none ends the process, and each
// region is lost on its own.
func TestManyObjectsThatShrink(t *testing.T) {
	t.Parallel()
	m := manager(t)
	steady := object(t, 4096)
	require.NoError(t, m.RegisterSystem("steady", steady, 0, 4096))
	var wg sync.WaitGroup
	for g := range 4 {
		key := object(t, 1<<20)
		wg.Go(func() {
			name := fmt.Sprint("r", g)
			for range 50 {
				if !assert.NoError(t, m.RegisterSystem(name, key, 0, 1<<20)) {
					return
				}
				s, err := m.Find(name, 0, 1<<20)
				if !assert.NoError(t, err) {
					return
				}
				var users sync.WaitGroup
				for k := range 2 {
					users.Go(func() {
						for i := k; i < s.N; i += 512 {
							s.Bytes()[i]++
						}
					})
				}
				assert.NoError(t, os.Truncate("/dev/shm"+key, 4096))
				users.Wait()
				s.Bytes()[s.N-1]++
				assert.Error(t, s.Buffer.Lost())
				s.Buffer.Release()
				assert.NoError(t, os.Truncate("/dev/shm"+key, 1<<20))
			}
		})
	}
	wg.Wait()
	s, err := m.Find("steady", 0, 4096)
	require.NoError(t, err)
	defer s.Buffer.Release()
	require.NoError(t, s.Buffer.Lost())
}

func TestDisabled(t *testing.T) {
	t.Parallel()
	const text = "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable."
	m := shm.New(shm.Options{})
	requireCode(t, m.RegisterSystem("r", object(t, 64), 0, 64), status.Unsupported, text, "register")
	requireCode(t, m.UnregisterSystem("r"), status.Unsupported, text, "unregister")
	all, err := m.SystemStatus("")
	require.NoError(t, err)
	require.Empty(t, all)
	_, err = m.Find("r", 0, 1)
	require.EqualError(t, err, "Unable to find shared memory region: 'r'")
	require.NoError(t, m.Close())
}

func TestNamesOfBothKinds(t *testing.T) {
	t.Parallel()
	m, _ := cudaManager(t)
	key := object(t, 64)
	require.NoError(t, m.RegisterSystem("r", key, 0, 64))
	require.EqualError(t, m.RegisterSystem("c", key, 0, 64), "shared memory region 'c' already in manager")
	require.EqualError(t, m.RegisterCUDA("r", handle("a"), 0, 64), "shared memory region 'r' already in manager")
	_, err := m.CUDAStatus("r")
	requireCode(t, err, status.NotFound,
		"The region named 'r' is registered as system shared memory, not CUDA shared memory", "")
	_, err = m.SystemStatus("c")
	requireCode(t, err, status.NotFound,
		"The region named 'c' is registered as CUDA shared memory, not system shared memory", "")
	require.NoError(t, m.UnregisterCUDA("r"), "the other kind")
	require.NoError(t, m.UnregisterCUDA(""), "the other kind stays")
	all, err := m.SystemStatus("")
	require.NoError(t, err)
	require.Equal(t, []shm.SystemRegion{{"r", key, 0, 64}}, all)
}

// The strings of an input do not change after the request was read.
func TestStringsAreCopied(t *testing.T) {
	t.Parallel()
	m, pool := manager(t), tensor.NewPool()
	require.NoError(t, m.RegisterSystem("r", object(t, 64), 0, 64))
	s, err := m.Find("r", 0, 64)
	require.NoError(t, err)
	defer s.Buffer.Release()
	copy(s.Bytes(), "\x02\x00\x00\x00ab")
	in := kserve.Tensor{Name: "x", DataType: tensor.Bytes}
	place := kserve.RegionSlice{Region: "r", Size: 6}
	require.NoError(t, place.Lend(&in, m, pool))
	numbers := kserve.Tensor{Name: "y", DataType: tensor.Uint8}
	require.NoError(t, place.Lend(&numbers, m, pool))
	s.Bytes()[0] = 0xff
	got, _ := in.Data.Contiguous()
	require.Equal(t, "\x02\x00\x00\x00ab", string(got))
	got, _ = numbers.Data.Contiguous()
	require.Same(t, &s.Bytes()[0], &got[0], "numbers are not copied")
	in.Data.Release()
	numbers.Data.Release()
	require.Zero(t, pool.Outstanding())
}

// TestMany registers, uses and forgets the same names from many sides.
func TestMany(t *testing.T) {
	t.Parallel()
	m := manager(t)
	key := object(t, 4096)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for k := range 200 {
				name := fmt.Sprint("r", (g+k)%3)
				_ = m.RegisterSystem(name, key, 0, 4096)
				if s, err := m.Find(name, 0, 64); err == nil {
					s.Bytes()[g] = byte(k)
					_ = m.UnregisterSystem(name)
					s.Bytes()[g]++
					s.Buffer.Release()
				}
				_, _ = m.SystemStatus("")
			}
		})
	}
	wg.Wait()
}

func FuzzFind(f *testing.F) {
	key := object(f, 4096)
	m := shm.New(shm.Options{Allow: true})
	if err := m.RegisterSystem("r", key, 0, 4096); err != nil {
		f.Fatal(err)
	}
	f.Add(uint64(0), uint64(4096))
	f.Add(uint64(4096), uint64(0))
	f.Add(uint64(1), uint64(math.MaxUint64))
	f.Add(uint64(math.MaxUint64), uint64(1))
	f.Fuzz(func(t *testing.T, offset, size uint64) {
		s, err := m.Find("r", offset, size)
		if err != nil {
			return
		}
		defer s.Buffer.Release()
		b := s.Bytes()
		if uint64(len(b)) != size || offset+size > 4096 {
			t.Fatalf("%d bytes at %d for %d", len(b), offset, size)
		}
		for i := range b {
			b[i]++
		}
	})
}

// TestMaxSystem: each region holds a file descriptor until its last use, so they have a limit.
func TestMaxSystem(t *testing.T) {
	t.Parallel()
	key := object(t, 4096)
	m := shm.New(shm.Options{Allow: true, MaxSystem: 2})
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	require.NoError(t, m.RegisterSystem("a", key, 0, 64))
	require.NoError(t, m.RegisterSystem("b", key, 0, 64))
	refused := func() {
		t.Helper()
		requireCode(t, m.RegisterSystem("c", key, 0, 64), status.Unavailable,
			"cannot register shared memory region 'c': 2 regions are registered, the most that the server's limit of open files (ulimit -n) leaves room for; unregister some", "third")
	}
	refused()
	used, err := m.Find("a", 0, 64)
	require.NoError(t, err)
	require.NoError(t, m.UnregisterSystem("a"))
	refused()
	used.Buffer.Release()
	require.Error(t, m.RegisterSystem("wrong", key+"x", 0, 64))
	require.NoError(t, m.RegisterSystem("c", key, 0, 64), "neither the unregistered region nor the failure counts")
}
