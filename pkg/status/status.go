// Package status holds the one error type that clients see: a code and a message, with
// the mapping of codes to HTTP and gRPC. Errors that stay inside the program are
// wrapped with %w instead.
package status

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
)

// Code is the kind of a client-visible error. The numbers are those of
// TRITONSERVER_Error_Code, so they can cross the backend C API unchanged.
type Code uint8

// The codes, with their meaning in Triton.
const (
	Unknown Code = iota
	Internal
	NotFound
	InvalidArg
	Unavailable
	Unsupported
	AlreadyExists
	Cancelled
)

var table = [...]struct {
	text string
	http int
	grpc codes.Code
}{
	Unknown:       {"Unknown", http.StatusBadRequest, codes.Unknown},
	Internal:      {"Internal", http.StatusInternalServerError, codes.Internal},
	NotFound:      {"Not found", http.StatusNotFound, codes.NotFound},
	InvalidArg:    {"Invalid argument", http.StatusBadRequest, codes.InvalidArgument},
	Unavailable:   {"Unavailable", http.StatusServiceUnavailable, codes.Unavailable},
	Unsupported:   {"Unsupported", http.StatusNotImplemented, codes.Unimplemented},
	AlreadyExists: {"Already exists", http.StatusBadRequest, codes.AlreadyExists},
	Cancelled:     {"Cancelled", http.StatusBadRequest, codes.Canceled},
}

func (c Code) valid() bool { return int(c) < len(table) }

// String returns the text of the code in logs and in repository-index reasons.
func (c Code) String() string {
	if !c.valid() {
		return fmt.Sprintf("Code(%d)", uint8(c))
	}
	return table[c].text
}

// HTTP returns the HTTP status of the code.
func (c Code) HTTP() int {
	if !c.valid() {
		return http.StatusInternalServerError
	}
	return table[c].http
}

// GRPC returns the gRPC status code of the code.
func (c Code) GRPC() codes.Code {
	if !c.valid() {
		return codes.Internal
	}
	return table[c].grpc
}

// Error is an error whose message may be shown to a client.
type Error struct {
	Code  Code
	Msg   string
	Cause error // for logs and errors.Is; never sent
	// RetryAfter is when the client may try again; 0: not known.
	RetryAfter time.Duration
}

// Error returns the message alone, as clients see it.
func (e *Error) Error() string { return e.Msg }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// RetrySeconds returns RetryAfter rounded up to seconds, as HTTP has it.
func (e *Error) RetrySeconds() int64 { return int64((e.RetryAfter + time.Second - 1) / time.Second) }

// Text returns the form for logs, "<Code>: <message>".
func (e *Error) Text() string { return e.Code.String() + ": " + e.Msg }

// New returns an error with a formatted message. A %w verb sets the cause.
func New(c Code, format string, args ...any) *Error {
	if len(args) == 0 {
		return &Error{Code: c, Msg: format}
	}
	err := fmt.Errorf(format, args...)
	return &Error{Code: c, Msg: err.Error(), Cause: errors.Unwrap(err)}
}

// Wrap is New for an error that err causes: it has the code and RetryAfter of err if err has a
// client-visible error in its chain.
func Wrap(err error, c Code, format string, args ...any) *Error {
	e := New(c, format, args...)
	if of := (*Error)(nil); errors.As(err, &of) {
		e.Code, e.RetryAfter = of.Code, of.RetryAfter
	}
	e.Cause = err
	return e
}

// From returns the client-visible error in err's chain. Any other error becomes
// Internal with its own text. From(nil) is nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		if e.Msg == err.Error() {
			return e
		}
		return &Error{Code: e.Code, Msg: err.Error(), Cause: err, RetryAfter: e.RetryAfter}
	}
	return &Error{Code: Internal, Msg: err.Error(), Cause: err}
}

// CodeOf returns the code of err; Internal for errors that carry none.
func CodeOf(err error) Code { return From(err).Code }
