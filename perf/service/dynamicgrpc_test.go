package service_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"triton/perf"
	"triton/perf/service"
	"triton/pkg/client"
	"triton/pkg/client/lane"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// startDynamicGRPC serves one method with streams in both directions.
func startDynamicGRPC(t *testing.T, answer grpc.StreamHandler) perf.Target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpc.NewServer()
	g.RegisterService(&grpc.ServiceDesc{ServiceName: "p.Service", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{
		{StreamName: "Method", Handler: answer, ServerStreams: true, ClientStreams: true},
	}}, nil)
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Serve(l) }()
	t.Cleanup(func() { g.Stop(); <-done })
	target, err := service.NewDynamicGRPC(service.DynamicGRPCOptions{
		Options: client.Options{Address: l.Addr().String(), Headers: map[string]string{"Key": "k"}}, Method: "p.Service/Method",
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, target.Close()) })
	return target
}

// dynamicGRPCRequest holds messages of the type BytesValue.
func dynamicGRPCRequest(contents ...[]byte) *kserve.Request {
	var b []byte
	for _, c := range contents {
		m := []byte{1<<3 | 2} // field 1
		for n := uint64(len(c)); ; n >>= 7 {
			if n < 128 {
				m = append(m, byte(n))
				break
			}
			m = append(m, byte(n)|128)
		}
		b = tensor.AppendElement(b, append(m, c...))
	}
	req := &kserve.Request{ModelName: "m"}
	in := req.AddInput()
	in.Name, in.DataType, in.Shape = "message_generator", tensor.Bytes, tensor.Shape{int64(len(contents))}
	in.Data = tensor.NewData(tensor.HeapBuffer(b))
	return req
}

func doDynamicGRPC(t *testing.T, ctx context.Context, target perf.Target, conn lane.Conn, req *kserve.Request, x *lane.Exchange) error {
	t.Helper()
	p, err := target.Prepare(req)
	require.NoError(t, err)
	return conn.Do(ctx, p, x)
}

// echo answers each message with itself, while others come.
func echo(_ any, s grpc.ServerStream) error {
	md, _ := metadata.FromIncomingContext(s.Context())
	if len(md.Get("key")) != 1 {
		return status.Error(codes.Unauthenticated, "no key")
	}
	for {
		var m wrapperspb.BytesValue
		if err := s.RecvMsg(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := s.SendMsg(&m); err != nil {
			return err
		}
	}
}

func TestDynamicGRPCCalls(t *testing.T) {
	t.Parallel()
	target := startDynamicGRPC(t, echo)
	conn := dial(t, target)
	x := &lane.Exchange{Keep: true}
	for range 3 { // each a call of its own
		require.NoError(t, doDynamicGRPC(t, t.Context(), target, conn, dynamicGRPCRequest([]byte("a"), []byte("bc")), x))
		require.Equal(t, [][]byte{{10, 1, 'a'}, {10, 2, 'b', 'c'}}, x.Bodies)
		require.Len(t, x.Responses, 2)
		require.IsNonDecreasing(t, []int64{x.Start, x.Responses[0], x.Responses[1], x.End})
		require.False(t, x.EmptyFinal)
	}
	var resp kserve.Response
	require.NoError(t, target.Decode(x, &resp))
	require.Zero(t, resp.Output("response").Data.Len())
}

// TestDynamicGRPCLargeCalls would block if a call received nothing before it has sent everything: both
// sides would wait for room.
func TestDynamicGRPCLargeCalls(t *testing.T) {
	t.Parallel()
	target := startDynamicGRPC(t, echo)
	large := bytes.Repeat([]byte("x"), 1<<20)
	var all [][]byte
	for range 24 {
		all = append(all, large)
	}
	x := &lane.Exchange{}
	require.NoError(t, doDynamicGRPC(t, t.Context(), target, dial(t, target), dynamicGRPCRequest(all...), x))
	require.Len(t, x.Responses, 24)
}

func TestOneAnswerAndNone(t *testing.T) {
	t.Parallel()
	target := startDynamicGRPC(t, func(_ any, s grpc.ServerStream) error {
		var m wrapperspb.BytesValue
		if err := s.RecvMsg(&m); err != nil {
			return err
		}
		if len(m.GetValue()) == 0 {
			return nil // without reading the rest
		}
		return s.SendMsg(&m)
	})
	conn := dial(t, target)
	x := &lane.Exchange{}
	require.NoError(t, doDynamicGRPC(t, t.Context(), target, conn, dynamicGRPCRequest([]byte("a"), []byte("b")), x))
	require.Len(t, x.Responses, 1)
	require.NoError(t, doDynamicGRPC(t, t.Context(), target, conn, dynamicGRPCRequest(nil, bytes.Repeat([]byte("x"), 8<<20)), x))
	require.Empty(t, x.Responses)
	require.Greater(t, x.End, x.Start)
}

func TestDynamicGRPCFailures(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	target := startDynamicGRPC(t, func(_ any, s grpc.ServerStream) error {
		var m wrapperspb.BytesValue
		if err := s.RecvMsg(&m); err != nil {
			return err
		}
		if string(m.GetValue()) == "wait" {
			<-release
		}
		return status.Error(codes.InvalidArgument, "bad message")
	})
	conn := dial(t, target)
	require.EqualError(t, doDynamicGRPC(t, t.Context(), target, conn, dynamicGRPCRequest([]byte("a")), &lane.Exchange{}), "bad message")

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, doDynamicGRPC(t, ctx, target, conn, dynamicGRPCRequest([]byte("wait")), &lane.Exchange{}), context.DeadlineExceeded)
	close(release)
	require.EqualError(t, doDynamicGRPC(t, t.Context(), target, conn, dynamicGRPCRequest([]byte("a")), &lane.Exchange{}), "bad message", "the lane works again")

	_, err := target.PrepareSequence(dynamicGRPCRequest())
	require.Error(t, err)
	_, err = target.Prepare(&kserve.Request{})
	require.EqualError(t, err, "the request has no input message_generator")
}
