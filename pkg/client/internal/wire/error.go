package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/status"
)

// ConnectError puts the words first that Triton's HTTP client library uses,
// because scripts look for them.
func ConnectError(err error) error {
	return fmt.Errorf("HTTP client failed: Couldn't connect to server (%w)", err)
}

// HTTPError is the error of an answer that is not 200, as the server worded it.
func HTTPError(code int, body []byte) error {
	var e struct{ Error string }
	msg := ""
	if json.Unmarshal(body, &e) == nil {
		msg = e.Error
	}
	if msg == "" {
		msg = fmt.Sprintf("HTTP status %d: %.200q", code, body)
	}
	return &status.Error{Code: codeOfHTTP(code), Msg: msg}
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

// RPCError is the error of a call as the server worded it, or that of the
// context when it has ended.
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
		// The server's clock was first.
		return fmt.Errorf("%s: %w", msg, context.DeadlineExceeded)
	}
	if s.Code() == codes.Unavailable && strings.HasPrefix(msg, "connection error: ") {
		// The words of the C++ library come first, because scripts look for them.
		msg = "failed to connect to all addresses; last error: " + msg
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
