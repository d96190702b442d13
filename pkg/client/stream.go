package client

import (
	"context"
	"errors"
	"io"

	"triton/pkg/client/internal/wire"
	"triton/pkg/inferencepb"
)

// Stream carries requests and their responses. One goroutine may send while
// another receives.
type Stream struct {
	ctx    context.Context // of the stream; its error is the reason for the end
	cancel context.CancelFunc
	rpc    inferencepb.GRPCInferenceService_ModelStreamInferClient
}

// RequestError is the failure of one request. Its stream continues.
type RequestError struct {
	ID, Model string // of the request, if the server sent them
	Msg       string
}

// Error returns the server's text.
func (e *RequestError) Error() string { return e.Msg }

func (t *grpcTransport) stream(ctx context.Context) (*Stream, error) {
	cc, err := t.dial()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(t.outgoing(ctx))
	rpc, err := inferencepb.NewGRPCInferenceServiceClient(cc).ModelStreamInfer(ctx)
	if err != nil {
		cancel()
		return nil, wire.RPCError(ctx, err)
	}
	return &Stream{ctx, cancel, rpc}, nil
}

// Send sends a request. After io.EOF, Recv returns why the stream has ended.
func (s *Stream) Send(req *Request) error {
	m, err := encodeRPC(req)
	if err != nil {
		return err
	}
	return s.failure(s.rpc.Send(m))
}

// Recv waits for the next response. It returns io.EOF when the server has
// completed all requests after CloseSend, and *RequestError when a request
// failed.
func (s *Stream) Recv() (*Response, error) {
	m, err := s.rpc.Recv()
	if err != nil {
		return nil, s.failure(err)
	}
	if text := m.GetErrorMessage(); text != "" {
		return nil, &RequestError{ID: m.GetInferResponse().GetId(), Model: m.GetInferResponse().GetModelName(), Msg: text}
	}
	return decodeRPC(m.GetInferResponse())
}

func (s *Stream) failure(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return wire.RPCError(s.ctx, err)
}

// CloseSend ends the requests of the stream.
func (s *Stream) CloseSend() error { return s.failure(s.rpc.CloseSend()) }

// Close ends the stream and cancels the requests without a response. It may be
// called more than once and from any goroutine.
func (s *Stream) Close() error {
	s.cancel()
	return nil
}
