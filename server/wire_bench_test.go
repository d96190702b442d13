package server_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"triton/pkg/inferencepb"
	"triton/server/servertest"
)

// BenchmarkWire is one request after another to a whole server in this process,
// with the bytes that it copied per request. The allocations over HTTP are the
// server's alone; over gRPC they are mostly those of the client, which parses
// messages with the protobuf library.
func BenchmarkWire(b *testing.B) {
	s := servertest.Start(b, servertest.Model("m", servertest.Identity("FP32", "-1", 8)))
	for _, size := range []int{1 << 10, 1 << 20, 10 << 20} {
		b.Run(fmt.Sprintf("json/%d", size), func(b *testing.B) {
			if size > 1<<20 {
				b.Skip("nobody sends that")
			}
			data := strings.Repeat(",0.12345678", size/4)[1:]
			benchHTTP(b, s, size, "", fmt.Sprintf(`{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,%d],"data":[%s]}]}`, size/4, data))
		})
		b.Run(fmt.Sprintf("binary/%d", size), func(b *testing.B) {
			text := fmt.Sprintf(`{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,%d],"parameters":{"binary_data_size":%d}}],`+
				`"outputs":[{"name":"OUTPUT0","parameters":{"binary_data":true}}]}`, size/4, size)
			header := fmt.Sprintf("Inference-Header-Content-Length: %d\r\n", len(text))
			benchHTTP(b, s, size, header, text+string(make([]byte, size)))
		})
		b.Run(fmt.Sprintf("grpc/%d", size), func(b *testing.B) { benchGRPC(b, s, size) })
	}
}

// measure counts the bytes that the server copies in b's loop over call.
func measure(b *testing.B, s *servertest.Server, size int, call func()) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	call()
	model, out := copied(b, client, s)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		call()
	}
	model2, out2 := copied(b, client, s)
	b.ReportMetric(float64(model2-model)/float64(b.N), "copied-in/op")
	b.ReportMetric(float64(out2-out)/float64(b.N), "copied-out/op")
}

func benchHTTP(b *testing.B, s *servertest.Server, size int, header, body string) {
	c, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", s.HTTP)
	require.NoError(b, err)
	defer c.Close()
	request := fmt.Appendf(nil, "POST /v2/models/m/infer HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n%s", header, len(body), body)
	in := bufio.NewReaderSize(c, 64<<10)
	measure(b, s, size, func() {
		if _, err := c.Write(request); err != nil {
			b.Fatal(err)
		}
		if err := skipReply(in); err != nil {
			b.Fatal(err)
		}
	})
}

// skipReply reads one reply without allocating.
func skipReply(in *bufio.Reader) error {
	const name = "Content-Length: "
	length := 0
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		switch {
		case err != nil:
			return err
		case first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")):
			return fmt.Errorf("%s", line)
		case len(line) == 2:
			_, err = in.Discard(length)
			return err
		case bytes.HasPrefix(line, []byte(name)):
			if length, err = strconv.Atoi(string(line[len(name) : len(line)-2])); err != nil {
				return err
			}
		}
	}
}

func benchGRPC(b *testing.B, s *servertest.Server, size int) {
	conn, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)))
	require.NoError(b, err)
	defer conn.Close()
	client, request := inferencepb.NewGRPCInferenceServiceClient(conn), message(size)
	measure(b, s, size, func() {
		if _, err := client.ModelInfer(b.Context(), request); err != nil {
			b.Fatal(err)
		}
	})
}
