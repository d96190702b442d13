package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/http1"
	"triton/server/httpapi"
	"triton/server/infer"
)

// simpleRequest is the request of perf_analyzer for model simple.
func simpleRequest() string {
	text := `{"inputs":[{"name":"INPUT0","shape":[1,16],"datatype":"INT32","parameters":{"binary_data_size":64}},` +
		`{"name":"INPUT1","shape":[1,16],"datatype":"INT32","parameters":{"binary_data_size":64}}],` +
		`"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}},{"name":"OUTPUT1","parameters":{"binary_data":true}}]}`
	return fmt.Sprintf("POST /v2/models/simple/infer HTTP/1.1\r\nHost: localhost:8000\r\nAccept: */*\r\nContent-Type: application/octet-stream\r\n"+
		"Inference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n%s%s", len(text), len(text)+128, text, strings.Repeat("\x01\x00\x00\x00", 32))
}

// fixedReply is a service whose answer costs next to nothing.
func fixedReply(pool *tensor.Pool) *stub {
	svc := newStub(pool)
	out := tensor.HeapBuffer(make([]byte, 64))
	shape := tensor.Shape{1, 16}
	svc.infer = func(_ context.Context, _ *infer.Request) (*infer.Response, error) {
		resp := infer.NewResponse()
		resp.ModelName, resp.ModelVersion = "simple", "1"
		resp.Add("OUTPUT0", tensor.Int32, shape, tensor.SliceData(out, 0, 64))
		resp.Add("OUTPUT1", tensor.Int32, shape, tensor.SliceData(out, 0, 64))
		return resp, nil
	}
	return svc
}

// BenchmarkLoopback compares whole requests with a handler of net/http that
// always answers the same. The client is the same in both.
func BenchmarkLoopback(b *testing.B) {
	const reply = `{"model_name":"simple","model_version":"1"}`
	constant := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header()["Content-Length"] = []string{"43"}
		_, _ = io.WriteString(w, reply)
	})
	pool := tensor.NewPool()
	b.Run("constant", func(b *testing.B) { loop(b, (&http.Server{Handler: constant}).Serve) })
	b.Run("infer-net-http", func(b *testing.B) {
		h := http1.NewHTTPHandler(httpapi.New(fixedReply(pool), httpapi.Options{Pool: pool}), http1.Options{})
		loop(b, (&http.Server{Handler: h}).Serve)
	})
	b.Run("infer-own", func(b *testing.B) {
		s := newServer(fixedReply(pool), httpapi.Options{Pool: pool})
		loop(b, s.Serve)
		require.NoError(b, s.Close())
	})
}

func loop(b *testing.B, serve func(net.Listener) error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = serve(l)
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(b, err)
	request := []byte(simpleRequest())
	in := bufio.NewReader(c)
	b.ReportAllocs()
	for b.Loop() {
		_, err := c.Write(request)
		if err != nil {
			b.Fatal(err)
		}
		skipReply(b, in)
	}
	c.Close()
	l.Close()
	<-done
}

// skipReply reads one reply without allocating.
func skipReply(b *testing.B, in *bufio.Reader) {
	length := 0
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			b.Fatal(err)
		}
		if first && string(line) != "HTTP/1.1 200 OK\r\n" {
			b.Fatalf("%s", line)
		}
		if len(line) == 2 {
			break
		}
		if name := "Content-Length: "; len(line) > len(name) && string(line[:len(name)]) == name {
			for _, d := range line[len(name) : len(line)-2] {
				length = length*10 + int(d-'0')
			}
		}
	}
	if _, err := in.Discard(length); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkGenerateStream is a stream of 100 events over one connection.
func BenchmarkGenerateStream(b *testing.B) {
	svc := newService()
	s := newServer(svc, httpapi.Options{Pool: svc.pool})
	addr := start(b, svc, s)
	c, err := net.Dial("tcp", addr)
	require.NoError(b, err)
	defer c.Close()
	body := `{"COUNT":100}`
	request := fmt.Appendf(nil, "POST /v2/models/g_repeat/generate_stream HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	in := bufio.NewReader(c)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Write(request); err != nil {
			b.Fatal(err)
		}
		for last := false; !last; {
			line, err := in.ReadSlice('\n')
			if err != nil {
				b.Fatal(err)
			}
			last = string(line) == "0\r\n"
		}
		if _, err := in.Discard(2); err != nil {
			b.Fatal(err)
		}
	}
}
