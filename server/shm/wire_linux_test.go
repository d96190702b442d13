package shm_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/servertest"
	"triton/server/servertest/conformance"
)

// TestWire sends requests to whole servers over both protocols. The answers in testdata/wire are
// those of NVIDIA's server 2.51, except in files that end in -ours, which have the reasons of the
// differences. To record again, start such a server with Python identity models of the
// configurations below and run
//
//	TRITON_WIRE_HTTP=host:port TRITON_WIRE_GRPC=host:port go test ./server/shm -run Wire -rewrite
//
// The commands: "object" makes a POSIX object, whose key is written @name in requests, "gpu" makes
// memory on a simulated GPU, whose handle is written in the same way, "ask" sends a request,
// "bytes" shows the content of an object or of GPU memory. A GPU without the memory that a handle
// names answers as Triton does on a machine without GPUs.
func TestWire(t *testing.T) {
	web, rpc := os.Getenv("TRITON_WIRE_HTTP"), os.Getenv("TRITON_WIRE_GRPC")
	recording, g := web != "", newGPU()
	if !recording {
		s := servertest.Start(t, append(wireModels(), servertest.With(func(o *server.Options) { o.CUDA = g }))...)
		web, rpc = s.HTTP, s.GRPC
	}
	target, err := conformance.Dial(web, rpc)
	require.NoError(t, err)
	defer target.Close()
	datadriven.Walk(t, "testdata/wire", func(t *testing.T, path string) {
		if recording && strings.HasSuffix(path, "-ours") {
			t.Skip("answers that differ for the reasons written there")
		}
		g.reset()
		w := &wire{target: target, keys: map[string]string{}, gpu: g}
		for _, kind := range []string{"system", "cuda"} {
			w.ask(t, "http POST /v2/"+kind+"sharedmemory/unregister")
			require.Eventually(t, func() bool { // a reply on its way may still hold a region
				return strings.Contains(w.ask(t, "http GET /v2/"+kind+"sharedmemory/status"), "\n[]\n")
			}, time.Minute, time.Millisecond)
		}
		datadriven.RunTest(t, path, w.run)
	})
}

// TestWireDisabled tests the flag that Triton 2.51 does not have; the order of the checks is that
// of later versions.
func TestWireDisabled(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Model("ints", servertest.Identity("INT32", "-1", 0)))
	target, err := conformance.Dial(s.HTTP, s.GRPC)
	require.NoError(t, err)
	defer target.Close()
	w := &wire{target: target}
	const disabled = "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable."
	for question, want := range map[string]string{
		"http POST /v2/systemsharedmemory/region/r/register\n\n{": "501\nContent-Type: application/json\n\n{\"error\":\"" + disabled + "\"}\n",
		"http POST /v2/systemsharedmemory/register":               "501\nContent-Type: application/json\n\n{\"error\":\"" + disabled + "\"}\n",
		"http POST /v2/systemsharedmemory/unregister":             "501\nContent-Type: application/json\n\n{\"error\":\"" + disabled + "\"}\n",
		"http POST /v2/cudasharedmemory/region/r/register":        "501\nContent-Type: application/json\n\n{\"error\":\"" + disabled + "\"}\n",
		"http POST /v2/cudasharedmemory/region/r/unregister":      "501\nContent-Type: application/json\n\n{\"error\":\"" + disabled + "\"}\n",
		"http GET /v2/systemsharedmemory/status":                  "200\nContent-Type: application/json\n\n[]\n",
		"http GET /v2/cudasharedmemory/status":                    "200\nContent-Type: application/json\n\n[]\n",
		"grpc SystemSharedMemoryRegister":                         "Unimplemented: " + disabled + "\n",
		"grpc SystemSharedMemoryUnregister":                       "Unimplemented: " + disabled + "\n",
		"grpc CudaSharedMemoryUnregister":                         "Unimplemented: " + disabled + "\n",
		"grpc CudaSharedMemoryRegister\n\n{\"name\":\"c\"}":       "Unimplemented: " + disabled + "\n",
		"grpc SystemSharedMemoryStatus":                           "OK\n{}\n",
		"grpc CudaSharedMemoryStatus":                             "OK\n{}\n",
	} {
		require.Equal(t, want, w.ask(t, question), question)
	}
}

func wireModels() []servertest.Option {
	two := `backend: "identity"
input [ { name: "INPUT0" data_type: TYPE_INT32 dims: [ -1 ] }, { name: "INPUT1" data_type: TYPE_STRING dims: [ -1 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ -1 ] }, { name: "OUTPUT1" data_type: TYPE_STRING dims: [ -1 ] } ]
`
	return []servertest.Option{
		servertest.Model("ints", servertest.Identity("INT32", "-1", 0)),
		servertest.Model("text", servertest.Identity("STRING", "-1", 0)),
		servertest.Model("rows", servertest.Identity("FP32", "-1", 4)),
		servertest.Model("two", two),
		servertest.With(func(o *server.Options) { o.ClientSharedMemory = true }),
	}
}

// wire is the state of one file of cases.
type wire struct {
	target *conformance.Target
	keys   map[string]string // and handles, by name
	gpu    *gpu
}

func (w *wire) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var name string
	var size, off, n int64
	d.MaybeScanArgs(t, "name", &name)
	switch d.Cmd {
	case "object":
		d.ScanArgs(t, "size", &size)
		w.keys[name] = object(t, size)
		require.NoError(t, os.WriteFile("/dev/shm"+w.keys[name], content(t, d, name, size), 0o600))
		return ""
	case "gpu":
		d.ScanArgs(t, "size", &size)
		w.keys[name] = base64.StdEncoding.EncodeToString(handle(name))
		w.gpu.put(name, content(t, d, name, size))
		return ""
	case "bytes":
		d.ScanArgs(t, "off", &off)
		d.ScanArgs(t, "n", &n)
		mem := w.gpu.get(name)
		if mem == nil {
			var err error
			mem, err = os.ReadFile("/dev/shm" + w.keys[name])
			require.NoError(t, err)
		}
		return fmt.Sprintf("% x\n", mem[off:off+n])
	}
	return w.ask(t, d.Input)
}

// content returns the content of new memory: the content in the file, else ascending bytes. If
// the name begins with i, sixteen little-endian numbers come first.
func content(t *testing.T, d *datadriven.TestData, name string, size int64) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i)
		if name[0] == 'i' && i < 64 {
			b[i] = 0
			if i%4 == 0 {
				b[i] = byte(i / 4)
			}
		}
	}
	copy(b, unhex(t, d.Input))
	return b
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	var b []byte
	for _, f := range strings.Fields(s) {
		var v byte
		_, err := fmt.Sscanf(f, "%02x", &v)
		require.NoError(t, err)
		b = append(b, v)
	}
	return b
}

func (w *wire) ask(t *testing.T, question string) string {
	t.Helper()
	for name, key := range w.keys {
		question = strings.ReplaceAll(question, "@"+name, key)
	}
	answer, err := w.target.Ask(context.Background(), &conformance.Step{Ask: strings.Split(question, "\n")})
	require.NoError(t, err)
	for name, key := range w.keys {
		answer = strings.ReplaceAll(answer, key, "@"+name)
	}
	for _, m := range aside {
		answer = m.ReplaceAllString(answer, "")
	}
	return answer
}

// aside matches parts of answers that do not matter here: lengths, and the parameters that the
// identity backend adds.
var aside = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^(Content-Length|Inference-Header-Content-Length|Allow): .*\n`),
	regexp.MustCompile(`"param0":\{.*?123\.123\},?`),
	regexp.MustCompile(`"param0":".*?123\.123,?`),
	regexp.MustCompile(`"parameters":\{\},`),
}
