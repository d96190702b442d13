package shm_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/cuda"
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/shm"
)

// gpu is a driver without GPU. A handle is the name of its memory.
type gpu struct {
	mu     sync.Mutex
	memory map[string][]byte
	opened int
	fail   error // of everything but opening
}

func newGPU() *gpu { return &gpu{memory: map[string][]byte{}} }

func handle(name string) []byte {
	return append([]byte(name), make([]byte, cuda.HandleSize-len(name))...)
}

func (g *gpu) Open(device int, h cuda.Handle) (cuda.Memory, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	mem, ok := g.memory[string(bytes.TrimRight(h[:], "\x00"))]
	if !ok || device != 0 {
		return nil, errors.New("invalid argument")
	}
	g.opened++
	return &gpuMemory{gpu: g, mem: mem}, nil
}

// put allocates memory, as another process does.
func (g *gpu) put(name string, mem []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.memory[name] = mem
}

// reset frees everything.
func (g *gpu) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.memory)
}

// get returns the bytes that this process sees in the memory; nil if it has no such memory.
func (g *gpu) get(name string) []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.memory[name])
}

// open returns how many handles are open.
func (g *gpu) open() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opened
}

func (g *gpu) failing(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail = err
}

type gpuMemory struct {
	gpu *gpu
	mem []byte
}

func (m *gpuMemory) Size() uint64 { return uint64(len(m.mem)) }

func (m *gpuMemory) Read(dst []byte, offset uint64) error {
	m.gpu.mu.Lock()
	defer m.gpu.mu.Unlock()
	copy(dst, m.mem[offset:offset+uint64(len(dst))])
	return m.gpu.fail
}

func (m *gpuMemory) Write(src []byte, offset uint64) error {
	m.gpu.mu.Lock()
	defer m.gpu.mu.Unlock()
	copy(m.mem[offset:offset+uint64(len(src))], src)
	return m.gpu.fail
}

func (m *gpuMemory) Close() error {
	m.gpu.mu.Lock()
	defer m.gpu.mu.Unlock()
	m.gpu.opened--
	return m.gpu.fail
}

// cudaManager has one region "c" of 100 bytes on a GPU.
func cudaManager(t testing.TB) (*shm.Manager, *gpu) {
	g := newGPU()
	g.memory["a"] = make([]byte, 100)
	m := shm.New(shm.Options{Allow: true, CUDA: g})
	t.Cleanup(func() {
		g.failing(nil)
		require.NoError(t, m.Close())
		require.Zero(t, g.open(), "handles")
	})
	require.NoError(t, m.RegisterCUDA("c", handle("a"), 0, 100))
	return m, g
}

func requireCode(t *testing.T, err error, code status.Code, text, name string) {
	t.Helper()
	require.EqualError(t, err, text, name)
	require.Equal(t, code, status.CodeOf(err), name)
}

const invalidArgs = "failed to register shared memory region: invalid args"

func TestRegisterCUDA(t *testing.T) {
	t.Parallel()
	m, g := cudaManager(t)
	for _, c := range []struct {
		name   string
		handle []byte
		on     uint64
		size   uint64
		code   status.Code
		text   string
	}{
		{"c", handle("a"), 0, 1, status.AlreadyExists, "shared memory region 'c' already in manager"},
		{"d", handle("b"), 0, 1, status.InvalidArg, invalidArgs},
		{"d", handle("a"), 1, 1, status.InvalidArg, invalidArgs},
		{"d", handle("a"), math.MaxUint64, 1, status.InvalidArg, invalidArgs},
		{"d", nil, 0, 1, status.InvalidArg, invalidArgs},
		{"d", handle("a")[:63], 0, 1, status.InvalidArg, invalidArgs},
		{"d", append(handle("a"), 0), 0, 1, status.InvalidArg, invalidArgs},
		{"d", handle("a"), 0, 101, status.InvalidArg, "failed to register shared memory region 'd': invalid args"},
		{"d", handle("a"), 0, math.MaxUint64, status.InvalidArg, "failed to register shared memory region 'd': invalid args"},
	} {
		requireCode(t, m.RegisterCUDA(c.name, c.handle, c.on, c.size), c.code, c.text, fmt.Sprintf("%+v", c))
	}
	require.Equal(t, 1, g.open(), "what was not registered is closed")
	require.NoError(t, m.RegisterCUDA("", handle("a"), 0, 7), "the same memory again")
	all, err := m.CUDAStatus("")
	require.NoError(t, err)
	require.Equal(t, []shm.CUDARegion{{"", 0, 7}, {"c", 0, 100}}, all)
	all, err = m.CUDAStatus("c")
	require.NoError(t, err)
	require.Equal(t, []shm.CUDARegion{{"c", 0, 100}}, all)
}

func TestCUDAIsNotThere(t *testing.T) {
	t.Parallel()
	m := shm.New(shm.Options{Allow: true})
	const text = "failed to register CUDA shared memory region: 'c', GPUs not supported"
	requireCode(t, m.RegisterCUDA("c", handle("a"), 0, 1), status.InvalidArg, text, "")
	requireCode(t, m.RegisterCUDA("c", nil, 0, 1), status.InvalidArg, text, "")
	require.NoError(t, m.UnregisterCUDA("c"))
	all, err := m.CUDAStatus("")
	require.NoError(t, err)
	require.Empty(t, all)
	_, err = m.CUDAStatus("c")
	requireCode(t, err, status.NotFound, "Unable to find cuda shared memory region: 'c'", "")
	const disabled = "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable."
	for _, g := range []cuda.Driver{nil, newGPU()} {
		m := shm.New(shm.Options{CUDA: g})
		requireCode(t, m.RegisterCUDA("c", handle("a"), 0, 1), status.Unsupported, disabled, "")
		requireCode(t, m.UnregisterCUDA(""), status.Unsupported, disabled, "")
		require.NoError(t, m.Close())
	}
}

// A region in use keeps its memory and its name until the last request is done.
func TestUnregisterCUDAWaitsForTheLastUse(t *testing.T) {
	t.Parallel()
	m, g := cudaManager(t)
	s, err := m.Find("c", 10, 20)
	require.NoError(t, err)
	require.NoError(t, m.UnregisterSystem(""), "the other kind")
	require.NoError(t, m.UnregisterSystem("c"), "the other kind")
	again, err := m.Find("c", 0, 1)
	require.NoError(t, err)
	again.Buffer.Release()
	require.NoError(t, m.UnregisterCUDA("unknown"))
	require.NoError(t, m.UnregisterCUDA("c"))
	require.NoError(t, m.UnregisterCUDA("c"), "again")
	again, err = m.Find("c", 0, 1)
	require.NoError(t, err)
	again.Buffer.Release()
	require.EqualError(t, m.RegisterCUDA("c", handle("a"), 0, 1), "shared memory region 'c' already in manager")
	require.Equal(t, 1, g.open())
	require.Equal(t, tensor.Location{Kind: tensor.GPU}, s.Buffer.Location())
	require.NoError(t, s.Buffer.Device().Write([]byte("x"), uint64(s.Off)))
	s.Buffer.Release()
	_, err = m.Find("c", 0, 1)
	require.EqualError(t, err, "Unable to find shared memory region: 'c'")
	require.Zero(t, g.open())
	require.Equal(t, byte('x'), g.memory["a"][10])
	require.NoError(t, m.RegisterCUDA("c", handle("a"), 0, 1))
}

func TestHandlesThatDoNotClose(t *testing.T) {
	t.Parallel()
	m, g := cudaManager(t)
	for _, name := range []string{"z", "b"} {
		require.NoError(t, m.RegisterCUDA(name, handle("a"), 0, 1))
	}
	g.failing(errors.New("unspecified launch failure"))
	requireCode(t, m.UnregisterCUDA("c"), status.Internal, "failed to close CUDA IPC handle: unspecified launch failure", "")
	requireCode(t, m.UnregisterCUDA(""), status.Internal, "Failed to unregister the following cuda shared memory regions: b ,z ,", "")
	require.NoError(t, m.UnregisterCUDA(""), "they are removed nevertheless")
	all, err := m.CUDAStatus("")
	require.NoError(t, err)
	require.Empty(t, all)
}

func TestInputsFromCUDA(t *testing.T) {
	t.Parallel()
	m, g := cudaManager(t)
	pool := tensor.NewPool()
	copy(g.memory["a"][10:], "0123456789")
	for _, dt := range []tensor.DataType{tensor.Uint8, tensor.Bytes} {
		in := kserve.Tensor{Name: "x", DataType: dt}
		require.NoError(t, kserve.RegionSlice{Region: "c", Offset: 12, Size: 5}.Lend(&in, m, pool))
		g.memory["a"][12]++
		got, _ := in.Data.Contiguous()
		require.Equal(t, "23456", string(got), "what is there now stays")
		g.memory["a"][12]--
		require.True(t, in.Data.Stable())
		in.Data.Release()
	}
	copied, _ := pool.Copied()
	require.EqualValues(t, 10, copied)
	in := kserve.Tensor{Name: "x", DataType: tensor.Uint8}
	require.NoError(t, kserve.RegionSlice{Region: "c", Offset: 12}.Lend(&in, m, pool))
	require.Zero(t, in.Data.Len())
	requireCode(t, kserve.RegionSlice{Region: "c", Offset: 100, Size: 1}.Lend(&in, m, pool), status.InvalidArg,
		"Invalid offset for shared memory region: 'c'", "")
	requireCode(t, kserve.RegionSlice{Region: "c", Offset: 99, Size: 2}.Lend(&in, m, pool), status.InvalidArg,
		"Invalid offset + byte size for shared memory region: 'c'", "")
	g.failing(errors.New("an illegal memory access was encountered"))
	requireCode(t, kserve.RegionSlice{Region: "c", Size: 5}.Lend(&in, m, pool), status.Internal,
		"failed to copy input 'x' from CUDA shared memory region 'c': an illegal memory access was encountered", "")
	in.Data.Release()
	require.Zero(t, pool.Outstanding())
}

// TestManyCUDA registers, uses and forgets the same names from many sides.
func TestManyCUDA(t *testing.T) {
	t.Parallel()
	m, g := cudaManager(t)
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			for i := range 200 {
				name := fmt.Sprint("r", (k+i)%3)
				_ = m.RegisterCUDA(name, handle("a"), 0, 100)
				if s, err := m.Find(name, 0, 64); err == nil {
					_ = m.UnregisterCUDA(name)
					if s.Buffer.Device().Write([]byte{1}, uint64(k)) != nil {
						t.Error("write")
					}
					s.Buffer.Release()
				}
				_, _ = m.CUDAStatus("")
			}
		})
	}
	wg.Wait()
	require.NoError(t, m.UnregisterCUDA(""))
	require.Zero(t, g.open())
}
