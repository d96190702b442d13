package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/status"
)

// ErrEmptyFinal is the error of a request over HTTP that requests an empty final response.
var ErrEmptyFinal = errors.New("an empty final response exists only on gRPC streams: HTTP servers reject the parameter")

// ConnectError returns a failure to connect. It begins with the words of Triton's
// HTTP client library, which scripts match.
func ConnectError(err error) error {
	return fmt.Errorf("HTTP client failed: Couldn't connect to server (%w)", err)
}

// SpeaksRPC replaces the error of an HTTP client that a gRPC server has greeted with the settings
// of HTTP/2. net/http reports only the bytes.
func SpeaksRPC(err error) error {
	text := err.Error()
	if strings.Contains(text, "malformed HTTP response") && strings.Contains(text, `\x04\x00\x00\x00\x00\x00`) {
		return errors.New("the server speaks gRPC at this port: choose gRPC, or the port of its HTTP service")
	}
	return err
}

// ErrDenied is in the chain of the error of a call that the client may not make.
var ErrDenied = errors.New("permission denied")

// restricted begins Triton's message about an RPC that needs a header, whose code is Unavailable.
const restricted = "This protocol is restricted, expecting header"

// HTTPError returns the error of a response with a status other than 200, with the
// server's text.
func HTTPError(code int, body []byte) error {
	var reply struct{ Error string }
	msg := ""
	if json.Unmarshal(body, &reply) == nil {
		msg = reply.Error
	}
	if msg == "" {
		msg = fmt.Sprintf("HTTP status %d: %.200q", code, body)
	}
	e := &status.Error{Code: codeOfHTTP(code), Msg: msg}
	if code == http.StatusForbidden || code == http.StatusUnauthorized {
		e.Cause = ErrDenied
	}
	return e
}

func codeOfHTTP(code int) status.Code {
	switch code {
	case http.StatusNotFound:
		return status.NotFound
	case http.StatusBadRequest:
		return status.InvalidArg
	case http.StatusServiceUnavailable:
		return status.Unavailable
	case http.StatusNotImplemented:
		return status.Unsupported
	case http.StatusInternalServerError:
		return status.Internal
	}
	return status.Unknown
}

// RPCError returns the error of a call with the server's text, or the error of the
// context if it has ended.
func RPCError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s, ok := grpcstatus.FromError(err)
	if !ok {
		return err
	}
	msg := s.Message()
	if s.Code() == codes.DeadlineExceeded {
		// The server noticed the deadline first.
		return fmt.Errorf("%s: %w", msg, context.DeadlineExceeded)
	}
	if s.Code() == codes.Unavailable && strings.HasPrefix(msg, "connection error: ") {
		if strings.Contains(msg, "looked like an HTTP/1.1 header") {
			msg += ": the server speaks HTTP at this port; choose HTTP, or the port of its gRPC service"
		}
		// Scripts look for the words of the C++ library.
		msg = "failed to connect to all addresses; last error: " + msg
	}
	if c := s.Code(); c == codes.PermissionDenied || c == codes.Unauthenticated || strings.HasPrefix(msg, restricted) {
		err = errors.Join(ErrDenied, err)
	}
	return &status.Error{Code: codeOfGRPC(s.Code()), Msg: msg, Cause: err}
}

func codeOfGRPC(c codes.Code) status.Code {
	for s := status.Unknown; s <= status.Cancelled; s++ {
		if s.GRPC() == c {
			return s
		}
	}
	return status.Unknown
}
