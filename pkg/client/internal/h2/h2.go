// Package h2 is the client side of gRPC over HTTP/2 for the load generator: connections that several
// lanes share, each with one call at a time. Requests are encoded once, messages are bytes, and a call
// allocates nothing. It knows neither addresses nor protobuf, and repeats nothing.
package h2

import (
	"errors"
	"fmt"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
)

// The windows are those of package client's connections.
const (
	streamWindow = 4 << 20
	connWindow   = 16 << 20

	prefixLen      = 5       // in front of a message
	maxHeaderList  = 1 << 20 // of a response
	maxFragments   = 64      // frames of one header list beyond those that its size needs
	maxQueued      = 64 << 10
	maxPart        = 128 << 10 // of a message in one frame, which is copied: servers allow up to 16 MiB
	maxControl     = 1 << 20   // queued answers to a peer that does not read them
	maxForeignBody = 1024      // kept of a response that is not gRPC
)

// ErrUnprocessed is in the chain of the error of a call that the server has not processed, so that it may be
// made again.
var ErrUnprocessed = errors.New("not processed by the server")

// ErrClosed is the error of calls on a connection that this side has closed.
var ErrClosed = errors.New("the connection was closed")

// errInterrupted is the error of a call that Interrupt ended.
var errInterrupted = errors.New("the call was interrupted")

// unprocessed is the status of a call that may be made again.
type unprocessed struct{ error }

func (u unprocessed) Unwrap() []error { return []error{u.error, ErrUnprocessed} }

func (u unprocessed) GRPCStatus() *grpcstatus.Status { return grpcstatus.Convert(u.error) }

// connectionError returns the error of a connection in the words of grpc-go.
func connectionError(desc string) error {
	return grpcstatus.Error(codes.Unavailable, fmt.Sprintf("connection error: desc = %q", desc))
}

func internalError(format string, args ...any) error {
	return grpcstatus.Errorf(codes.Internal, format, args...)
}

// fault is a violation of HTTP/2 by the peer, which ends the connection.
type fault struct {
	code http2.ErrCode
	text string
}

func (f *fault) Error() string { return fmt.Sprintf("%s: %s", f.code, f.text) }

func violation(code http2.ErrCode, format string, args ...any) error {
	return &fault{code, fmt.Sprintf(format, args...)}
}
