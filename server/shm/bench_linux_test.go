package shm_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/servertest"
)

// BenchmarkIdentity is 10 MB through a whole server and back: in shared memory,
// and as binary data over the wire. The server and the client share the process
// and its processors.
func BenchmarkIdentity(b *testing.B) {
	const size = 10 << 20
	s := servertest.Start(b, servertest.Model("id", servertest.Identity("FP32", "-1", 0)),
		servertest.With(func(o *server.Options) { o.ClientSharedMemory = true }))
	in, out := object(b, size), object(b, size)
	require.NoError(b, os.WriteFile("/dev/shm"+in, make([]byte, size), 0o600))
	url := "http://" + s.HTTP + "/v2"
	for name, key := range map[string]string{"in": in, "out": out} {
		post(b, url+"/systemsharedmemory/region/"+name+"/register", 0, fmt.Appendf(nil, `{"key":"%s","byte_size":%d}`, key, size))
	}
	run := func(name string, header int, body []byte) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				post(b, url+"/models/id/infer", header, body)
			}
		})
	}
	const head = `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[%d],"parameters":{%s}}],"outputs":[{"name":"OUTPUT0","parameters":{%s}}]}`
	run("shared memory", 0, fmt.Appendf(nil, head, size/4,
		fmt.Sprintf(`"shared_memory_region":"in","shared_memory_byte_size":%d`, size),
		fmt.Sprintf(`"shared_memory_region":"out","shared_memory_byte_size":%d`, size)))
	text := fmt.Appendf(nil, head, size/4, fmt.Sprintf(`"binary_data_size":%d`, size), `"binary_data":true`)
	run("wire", len(text), append(text, make([]byte, size)...))
}

func post(b *testing.B, url string, header int, body []byte) {
	b.Helper()
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	if header > 0 {
		req.Header.Set("Inference-Header-Content-Length", fmt.Sprint(header))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		b.Fatal(resp.Status, err)
	}
}
