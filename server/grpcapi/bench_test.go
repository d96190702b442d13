package grpcapi_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve/rpc"
	"triton/pkg/tensor"
	"triton/server/grpcapi"
)

// BenchmarkModelInfer measures whole calls over loopback TCP, client included: "stub" is a core
// that answers at once, "constant" a handler that reads and writes nothing, which shows the cost
// of gRPC itself.
func BenchmarkModelInfer(b *testing.B) {
	for _, size := range []int{64, 64 << 10, 600 << 10} {
		for _, clients := range []int{1, 8, 64} {
			if size > 64 && clients > 1 {
				continue
			}
			for _, kind := range []string{"constant", "stub"} {
				b.Run(fmt.Sprintf("%dB/c%d/%s", size, clients, kind), func(b *testing.B) {
					benchmark(b, size, clients, kind)
				})
			}
		}
	}
}

func benchmark(b *testing.B, size, clients int, kind string) {
	req := request(b, size)
	conn, codec := serveBench(b, kind, response(b, size))
	call := func() {
		var n received
		if err := conn.Invoke(context.Background(), rpc.ModelInfer, req, &n, grpc.ForceCodecV2(codec)); err != nil || int(n) < size {
			b.Error(err, n)
		}
	}
	call() // connect
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(b.N))
	for range clients {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				call()
			}
		})
	}
	wg.Wait()
	b.StopTimer()
}

// received is how long an answer was.
type received int

// lightCodec is the least that a client can do, so that the figures are the
// server's.
type lightCodec struct{ bytesCodec }

func (lightCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*received) = received(data.Len())
	return nil
}

func request(b *testing.B, size int) []byte {
	b.Helper()
	m := &inferencepb.ModelInferRequest{ModelName: "echo"}
	for _, name := range []string{"X0", "X1"} {
		m.Inputs = append(m.Inputs, &inferencepb.ModelInferRequest_InferInputTensor{
			Name: name, Datatype: "UINT8", Shape: []int64{1, int64(size)},
		})
		m.RawInputContents = append(m.RawInputContents, make([]byte, size))
	}
	data, err := proto.Marshal(m)
	require.NoError(b, err)
	return data
}

func response(b *testing.B, size int) []byte {
	b.Helper()
	data, err := proto.Marshal(&inferencepb.ModelInferResponse{RawOutputContents: [][]byte{make([]byte, size), make([]byte, size)}})
	require.NoError(b, err)
	return data
}

// BenchmarkLargeContents is a call with an input and an output of 1 MiB. "frames" is a model that takes
// the input as it arrived, "memory" one that takes it in memory of its own.
func BenchmarkLargeContents(b *testing.B) {
	req, err := proto.Marshal(bytesRequest("echo", 1<<20))
	require.NoError(b, err)
	for kind, name := range map[string]string{"stub": "frames", "taker": "memory"} {
		b.Run(name, func(b *testing.B) {
			conn, codec := serveBench(b, kind, nil)
			b.ReportAllocs()
			for b.Loop() {
				var n received
				if err := conn.Invoke(context.Background(), rpc.ModelInfer, req, &n, grpc.ForceCodecV2(codec)); err != nil || n < 1<<20 {
					b.Fatal(err, n)
				}
			}
		})
	}
}

// serveBench serves on TCP, with the constant answer, the stub or the taker.
func serveBench(b *testing.B, kind string, constant []byte) (*grpc.ClientConn, lightCodec) {
	b.Helper()
	s := newStub()
	opts := grpcapi.Default(s.pool)
	var srv grpcapi.Server
	switch kind {
	case "stub":
		srv = newServer(b, s, opts)
	case "taker":
		srv = newServer(b, &taker{stub: s, pool: tensor.NewPool()}, opts)
	default:
		srv = grpc.NewServer(append(grpcapi.ServerOptions(opts), grpc.ForceServerCodecV2(constantCodec{constant}))...)
		srv.RegisterService(&grpc.ServiceDesc{
			ServiceName: rpc.Service,
			Methods:     []grpc.MethodDesc{{MethodName: "ModelInfer", Handler: constantAnswer}},
		}, nil)
	}
	lis, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(b, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(lis)
	}()
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30)))
	require.NoError(b, err)
	b.Cleanup(func() {
		conn.Close()
		srv.Stop()
		<-done
	})
	return conn, lightCodec{}
}

func constantAnswer(_ any, _ context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	return struct{}{}, dec(nil)
}

// constantCodec reads nothing and always writes the same.
type constantCodec struct{ answer []byte }

func (constantCodec) Name() string                         { return "proto" }
func (constantCodec) Unmarshal(mem.BufferSlice, any) error { return nil }

func (c constantCodec) Marshal(any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(c.answer)}, nil
}

// BenchmarkModelStreamInfer is the same on one stream that stays open, a request
// at a time and with 16 on their way.
func BenchmarkModelStreamInfer(b *testing.B) {
	for _, size := range []int{64, 64 << 10} {
		for _, ahead := range []int{1, 16} {
			b.Run(fmt.Sprintf("%dB/ahead%d", size, ahead), func(b *testing.B) { benchmarkStream(b, size, ahead) })
		}
	}
}

func benchmarkStream(b *testing.B, size, ahead int) {
	req := request(b, size)
	conn, codec := serveBench(b, "stub", nil)
	stream, err := conn.NewStream(b.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		rpc.ModelStreamInfer, grpc.ForceCodecV2(codec))
	require.NoError(b, err)
	var n received
	for range ahead - 1 {
		require.NoError(b, stream.SendMsg(req))
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := stream.SendMsg(req); err != nil {
			b.Fatal(err)
		}
		if err := stream.RecvMsg(&n); err != nil || int(n) < size {
			b.Fatal(err, n)
		}
	}
}
