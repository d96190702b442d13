package grpctest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The methods of the oracle's service.
const (
	oracleUnary  = "/oracle.Oracle/Unary"  // answers with the message, repeated
	oracleStream = "/oracle.Oracle/Stream" // answers each message
	oracleHold   = "/oracle.Oracle/Hold"   // reads nothing until the call is canceled
	oracleFail   = "/oracle.Oracle/Fail"   // fails after the first message, with details in headers and trailers
)

// seenCall is a call as its handler saw it.
type seenCall struct {
	lines []string
}

// record keeps what the handlers of one server saw.
type record struct {
	mu    sync.Mutex
	calls []*seenCall
}

// begin records a call.
func (r *record) begin(ctx context.Context, method string) *seenCall {
	c := &seenCall{[]string{"call " + method}}
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		names := make([]string, 0, len(md))
		for name := range md {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			c.add("%s: %s", name, shorten(fmt.Sprintf("%q", md[name])))
		}
	}
	if at, ok := ctx.Deadline(); ok {
		c.add("deadline in %v", time.Until(at)) // in the time of the bubble
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
	return c
}

func (c *seenCall) add(format string, args ...any) {
	c.lines = append(c.lines, fmt.Sprintf(format, args...))
}

// read records a message or the end.
func (c *seenCall) read(m *wrapperspb.BytesValue, err error) {
	switch {
	case err == nil:
		c.add("message %s", brief(m.GetValue()))
	case errors.Is(err, io.EOF):
		c.add("end")
	default:
		c.add("error %s: %s", grpcstatus.Code(err), grpcstatus.Convert(err).Message())
	}
}

// shorten cuts the middle of a long text.
func shorten(s string) string {
	if len(s) > 200 {
		return fmt.Sprintf("%s (%d bytes) %s", s[:20], len(s), s[len(s)-20:])
	}
	return s
}

// brief describes bytes by their number and their beginning.
func brief(b []byte) string { return fmt.Sprintf("%d bytes %x", len(b), b[:min(len(b), 8)]) }

// String lists the calls.
func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, c := range r.calls {
		fmt.Fprintln(&b, strings.Join(c.lines, "\n  "))
	}
	return b.String()
}

// answer returns a message, repeated as its first byte says.
func answer(m *wrapperspb.BytesValue) *wrapperspb.BytesValue {
	v := m.GetValue()
	if len(v) == 0 {
		return m
	}
	return wrapperspb.Bytes(slices.Repeat(v, int(v[0])%16))
}

// oracleDesc describes the service. Its handlers record what they see in the *record that is registered.
var oracleDesc = grpc.ServiceDesc{
	ServiceName: "oracle.Oracle",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{
		MethodName: "Unary",
		Handler: func(srv any, ctx context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			c := srv.(*record).begin(ctx, oracleUnary)
			m := &wrapperspb.BytesValue{}
			err := dec(m)
			c.read(m, err)
			if err != nil {
				return nil, err
			}
			return answer(m), nil
		},
	}},
	Streams: []grpc.StreamDesc{
		{StreamName: "Stream", ServerStreams: true, ClientStreams: true, Handler: func(srv any, s grpc.ServerStream) error {
			c := srv.(*record).begin(s.Context(), oracleStream)
			for {
				m := &wrapperspb.BytesValue{}
				err := s.RecvMsg(m)
				c.read(m, err)
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
				if err := s.SendMsg(answer(m)); err != nil {
					c.add("send error %s", grpcstatus.Code(err))
					return err
				}
			}
		}},
		{StreamName: "Hold", ServerStreams: true, ClientStreams: true, Handler: func(srv any, s grpc.ServerStream) error {
			c := srv.(*record).begin(s.Context(), oracleHold)
			<-s.Context().Done()
			c.add("done: %v", context.Cause(s.Context()))
			return grpcstatus.FromContextError(s.Context().Err()).Err()
		}},
		{StreamName: "Fail", ServerStreams: true, ClientStreams: true, Handler: func(srv any, s grpc.ServerStream) error {
			c := srv.(*record).begin(s.Context(), oracleFail)
			if err := s.SetHeader(metadata.Pairs("h", "1", "h-bin", "\x00\xff")); err != nil {
				c.add("header error %s", grpcstatus.Code(err))
			}
			s.SetTrailer(metadata.Pairs("t", "2", "t-bin", "\x01"))
			m := &wrapperspb.BytesValue{}
			c.read(m, s.RecvMsg(m))
			if len(m.GetValue()) > 1 {
				if err := s.SendMsg(m); err != nil {
					c.add("send error %s", grpcstatus.Code(err))
				}
			}
			return grpcstatus.Error(codes.DataLoss, "lost 100 % of é\n")
		}},
	},
}
