package server_test

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/servertest"
)

// region is shared memory of a client for one question at a time: it contains the inputs and
// then the outputs.
type region struct {
	name string
	mem  []byte
	used int
	at   map[string]int // where outputs are to go
}

// outputRoom is more than any output needs.
const outputRoom = 4 << 10

func newRegion(t *testing.T, s *servertest.Server, name string) *region {
	t.Helper()
	const size = 64 << 10
	file, err := os.CreateTemp("/dev/shm", "triton-test-*")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.Remove(file.Name())) })
	require.NoError(t, file.Truncate(size))
	mem, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(mem)) })
	require.NoError(t, file.Close())
	code, text, err := post(newClient(t), "http://"+s.HTTP+"/v2/systemsharedmemory/region/"+name+"/register",
		fmt.Sprintf(`{"key":"/%s","offset":0,"byte_size":%d}`, filepath.Base(file.Name()), size))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, text)
	return &region{name: name, mem: mem}
}

// put returns the offset of the data, or of free memory for an output.
func (r *region) put(data []byte) int {
	at := r.used
	r.used += max(copy(r.mem[at:], data), outputRoom)
	return at
}

// room returns where an output is to go; its size is that of the tensor.
func (r *region) room(output string) int {
	r.at[output] = r.put(nil)
	return r.at[output]
}

// get returns an output, whose length follows from its type and shape.
func (r *region) get(output string, d tensor.DataType, shape tensor.Shape) ([]byte, error) {
	at, ok := r.at[output]
	if !ok {
		return nil, fmt.Errorf("%s is not in the region", output)
	}
	n, err := shape.Elements()
	if err != nil {
		return nil, err
	}
	size := int(n) * d.Size()
	for ; d == tensor.Bytes && n > 0; n-- {
		size += 4 + int(binary.LittleEndian.Uint32(r.mem[at+size:]))
	}
	return append([]byte(nil), r.mem[at:at+size]...), nil
}

func (r *region) members(at, size int) string {
	return fmt.Sprintf(`"shared_memory_region":%q,"shared_memory_offset":%d,"shared_memory_byte_size":%d`, r.name, at, size)
}

func (r *region) begin() {
	r.used, r.at = 0, map[string]int{}
}

func (r *region) input(v value) (string, []byte) {
	return `"parameters":{` + r.members(r.put(v.data), len(v.data)) + `}`, nil
}

func (r *region) output(name string) string { return r.members(r.room(name), outputRoom) }

func (r *region) read(o *jsonOutput, _ *[]byte) ([]byte, error) {
	return r.get(o.Name, o.dataType(), o.Shape)
}

// parameters returns what members is over gRPC.
func (r *region) parameters(at, size int) map[string]*inferencepb.InferParameter {
	number := func(n int) *inferencepb.InferParameter {
		return &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_Int64Param{Int64Param: int64(n)}}
	}
	return map[string]*inferencepb.InferParameter{
		"shared_memory_region":    {ParameterChoice: &inferencepb.InferParameter_StringParam{StringParam: r.name}},
		"shared_memory_offset":    number(at),
		"shared_memory_byte_size": number(size),
	}
}
