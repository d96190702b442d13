package server_test

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"triton/pkg/tensor"
	"triton/server"
	"triton/server/backend"
	"triton/server/infer"
	"triton/server/servertest"
)

// inChild is the argument that makes this program the child of a test.
const inChild = "in-child"

// TestChild is the child process of TestChildMapsRequests.
func TestChild(*testing.T) {
	if flag.Arg(0) != inChild {
		return
	}
	if err := reverse(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// reverse reads lines with the offsets of an input and an output in the file with descriptor 3,
// and writes the input's bytes to the output, the last first.
func reverse(from io.Reader, to io.Writer) error {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		var in, out, n int64
		if _, err := fmt.Sscan(lines.Text(), &in, &out, &n); err != nil {
			return err
		}
		src, err := window(in, n)
		if err != nil {
			return err
		}
		dst, err := window(out, n)
		if err != nil {
			return err
		}
		copy(dst, src)
		slices.Reverse(dst)
		if _, err := fmt.Fprintln(to, "done"); err != nil {
			return err
		}
	}
	return lines.Err()
}

// window maps a part of the file.
func window(offset, n int64) ([]byte, error) {
	ahead := offset % int64(os.Getpagesize())
	mem, err := unix.Mmap(3, offset-ahead, int(ahead+n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return mem[ahead:], nil
}

// children is a backend in a child process, which maps the memory of requests and responses.
type children struct{ mapped atomic.Int64 }

func (c *children) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	return &childModel{c, spec.Pool}, nil
}

type childModel struct {
	*children
	pool *tensor.Pool
}

func (*childModel) Close() error { return nil }

func (m *childModel) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	probe, err := m.pool.TryGet(1)
	if err != nil {
		return nil, err
	}
	defer probe.Release()
	file, _, ok := probe.Shared()
	if !ok {
		return nil, fmt.Errorf("no memory that a child can map")
	}
	i := &childInstance{children: m.children, file: file, command: exec.Command(os.Args[0], "-test.run=^TestChild$", inChild)} //nolint:gosec // it is this program
	i.command.ExtraFiles, i.command.Stderr = []*os.File{file}, os.Stderr
	if i.to, err = i.command.StdinPipe(); err != nil {
		return nil, err
	}
	from, err := i.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	i.from = bufio.NewReader(from)
	return i, i.command.Start()
}

type childInstance struct {
	*children
	file    *os.File
	command *exec.Cmd
	to      io.WriteCloser
	from    *bufio.Reader
}

func (i *childInstance) Close() error {
	_ = i.to.Close()
	return i.command.Wait()
}

func (i *childInstance) Execute(_ context.Context, b *infer.Batch) error {
	for _, r := range b.Requests {
		in := r.Input("INPUT0")
		out, err := r.Alloc(infer.Output{Name: "OUTPUT0", DataType: in.DataType, Size: in.Data.Len()})
		if err != nil {
			return err
		}
		from, src, ok := at(in.Data.Segment(0))
		to, dst, both := at(out)
		if !ok || !both || in.Data.Segments() != 1 || from != i.file || to != i.file {
			out.Buffer.Release()
			return fmt.Errorf("a child cannot map the tensors")
		}
		fmt.Fprintln(i.to, src, dst, out.N)
		if line, err := i.from.ReadString('\n'); line != "done\n" {
			out.Buffer.Release()
			return fmt.Errorf("the child says %q: %w", line, err)
		}
		i.mapped.Add(1)
		resp := infer.NewResponse()
		resp.Add("OUTPUT0", in.DataType, in.Shape, tensor.SegmentData(out))
		r.Respond(resp, true)
	}
	return nil
}

// at returns where a child finds a piece of memory.
func at(s tensor.Segment) (file *os.File, offset int64, ok bool) {
	file, offset, ok = s.Buffer.Shared()
	return file, offset + int64(s.Off), ok
}

// TestChildMapsRequests has a model in a child process that reads a request where
// the HTTP frontend received it, and writes the response where that sends it
// from. Nothing is copied.
func TestChildMapsRequests(t *testing.T) {
	t.Parallel()
	source, err := tensor.NewMemfd()
	if err != nil {
		t.Skip(err)
	}
	pool, child := tensor.NewPoolOf(tensor.PoolOptions{Source: source}), &children{}
	s := servertest.Start(t, servertest.Model("reversed", `backend: "child"
input { name: "INPUT0" data_type: TYPE_UINT8 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_UINT8 dims: [ -1 ] }
`), servertest.With(func(o *server.Options) { o.Pool, o.Backends["child"] = pool, child }))
	for _, size := range []int{5, 100_000, 1 << 20, 5 << 20} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i * i >> 3)
		}
		for round := range 2 { // large bodies grow until the pool has memory of their size
			model, client := pool.Copied()
			got := reversed(t, s.HTTP, data)
			slices.Reverse(got)
			require.True(t, bytes.Equal(data, got), size)
			if after, out := pool.Copied(); round > 0 {
				require.Equal(t, model, after, size)
				require.True(t, out == client || size == 5, "%d: small outputs are written with the header", size)
			}
		}
	}
	require.EqualValues(t, 8, child.mapped.Load())
}

// reversed sends INPUT0 and returns OUTPUT0.
func reversed(t *testing.T, addr string, data []byte) []byte {
	t.Helper()
	head := fmt.Sprintf(`{"inputs":[{"name":"INPUT0","datatype":"UINT8","shape":[%d],"parameters":{"binary_data_size":%[1]d}}],`+
		`"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]}`, len(data))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/v2/models/reversed/infer",
		bytes.NewReader(append([]byte(head), data...)))
	require.NoError(t, err)
	req.Header.Set("Inference-Header-Content-Length", strconv.Itoa(len(head)))
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := newClient(t).Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", got)
	n, err := strconv.Atoi(resp.Header.Get("Inference-Header-Content-Length"))
	require.NoError(t, err)
	return got[n:]
}
