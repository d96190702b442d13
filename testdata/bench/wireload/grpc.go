package main

import (
	"bytes"
	"context"
	"errors"
	"math"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"

	"triton/pkg/kserve/rpc"
)

// channel is one gRPC connection.
type channel struct{ conn *grpc.ClientConn }

func (s *settings) dial() (*channel, error) {
	conn, err := grpc.NewClient("passthrough:///"+s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32), grpc.ForceCodecV2(codec{})))
	return &channel{conn}, err
}

func (c *channel) close() { _ = c.conn.Close() }

func (c *channel) caller(message, want []byte, m *memory) *grpcCaller {
	if m != nil {
		want = nil
	}
	return &grpcCaller{channel: c, message: message, want: want, memory: m}
}

// grpcCaller makes one call at a time.
type grpcCaller struct {
	channel *channel
	message []byte
	want    []byte // expected end of the response
	memory  *memory
}

func (c *grpcCaller) call(check bool) error {
	var a response
	a.keep = check
	if err := c.channel.conn.Invoke(context.Background(), rpc.ModelInfer, c.message, &a); err != nil {
		return err
	}
	if a.size < len(c.want) {
		return errors.New("the response is too short")
	}
	if !check {
		return nil
	}
	if !bytes.HasSuffix(a.data, c.want) {
		return errors.New("the response is not the input")
	}
	return c.memory.check()
}

// response is the part of a message that the caller needs.
type response struct {
	keep bool
	size int
	data []byte
}

// codec sends bytes unchanged and decodes almost nothing.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	a := v.(*response)
	a.size = data.Len()
	if a.keep {
		a.data = data.Materialize()
	}
	return nil
}
