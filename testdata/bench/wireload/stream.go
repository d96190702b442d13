package main

import (
	"bytes"
	"context"
	"errors"

	"google.golang.org/grpc"

	"triton/pkg/kserve/rpc"
)

// streamCaller is one stream, with one request at a time.
type streamCaller struct {
	stream    grpc.ClientStream
	message   []byte
	want      []byte // expected end of each response
	responses int
}

// stream opens a stream on a connection, which ends it.
func (c *channel) stream(message, want []byte, responses int) (*streamCaller, error) {
	s, err := c.conn.NewStream(context.Background(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, rpc.ModelStreamInfer)
	return &streamCaller{stream: s, message: message, want: want, responses: responses}, err
}

func (c *streamCaller) call(check bool) error {
	if err := c.stream.SendMsg(c.message); err != nil {
		return err
	}
	for range c.responses {
		a := response{keep: check}
		if err := c.stream.RecvMsg(&a); err != nil {
			return err
		}
		if a.size < len(c.want) {
			return errors.New("a response is too short")
		}
		if check && !bytes.HasSuffix(a.data, c.want) {
			return errors.New("a response is not the input")
		}
	}
	return nil
}
