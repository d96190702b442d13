// Package http2 serves gRPC: it reads the frames of HTTP/2 connections, hands each call to the handler of its method
// and writes the response. Handlers see what they see of grpc-go, whose types it uses, so that they do not know
// which of the two serves them.
package http2

import (
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"

	"triton/pkg/h2frame"
)

// Options are the settings of a server. Its zero value has the limits of grpc-go.
type Options struct {
	// Log receives errors; nil discards them.
	Log *slog.Logger
	// Credentials make the handshake of a connection; nil: plain text.
	Credentials credentials.TransportCredentials
	// Codec encodes messages, and decodes those of handlers that call RecvMsg; nil: protobuf.
	Codec encoding.CodecV2
	// Stream wraps the handlers of calls that stream in a direction; nil: nothing does.
	Stream grpc.StreamServerInterceptor
	// HTTP answers requests that are no calls of gRPC; nil: they are refused.
	HTTP http.Handler
	// Buffers are the memory of messages that arrive; nil: that of gRPC.
	Buffers mem.BufferPool

	MaxStreams    uint32 // calls of a connection at a time; 0: no limit
	MaxHeaderList uint32 // bytes, as HTTP/2 counts them
	MaxReceive    int    // bytes of a message that RecvMsg reads
	MaxFrame      int    // bytes of a frame that clients may send
	// StreamWindow and ConnWindow are how many bytes a client may send before they are read.
	StreamWindow, ConnWindow int32
	ReadBuffer               int // bytes; an idle connection has none
	// Workers is the number of goroutines with warm stacks. More calls at a time get their own.
	Workers int

	Keepalive   keepalive.ServerParameters
	Enforcement keepalive.EnforcementPolicy
}

// What nobody has set.
const (
	defaultHeaderList = 16 << 20
	defaultReceive    = 4 << 20
	defaultFrame      = 1 << 20
	defaultBuffer     = 32 << 10 // a size of gRPC's pools, whose next one is 1 MiB
	defaultMinPing    = 5 * time.Minute
	forever           = time.Duration(math.MaxInt64)
)

func (o Options) complete() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Credentials == nil {
		o.Credentials = insecure.NewCredentials()
	}
	if o.Codec == nil {
		o.Codec = encoding.GetCodecV2(proto.Name)
	}
	if o.Buffers == nil {
		o.Buffers = mem.DefaultBufferPool()
	}
	if o.MaxStreams == 0 {
		o.MaxStreams = math.MaxUint32
	}
	o.MaxHeaderList = orElse(o.MaxHeaderList, defaultHeaderList)
	o.MaxReceive = orElse(o.MaxReceive, defaultReceive)
	o.MaxFrame = min(max(orElse(o.MaxFrame, defaultFrame), h2frame.SmallestMax), h2frame.LargestMax)
	o.StreamWindow = max(o.StreamWindow, h2frame.InitialWindow)
	o.ConnWindow = max(o.ConnWindow, h2frame.InitialWindow)
	o.ReadBuffer = max(orElse(o.ReadBuffer, defaultBuffer), 2*h2frame.SmallestMax)
	k := &o.Keepalive
	for _, d := range []*time.Duration{&k.MaxConnectionIdle, &k.MaxConnectionAge, &k.MaxConnectionAgeGrace} {
		*d = orElse(*d, forever)
	}
	k.Time, k.Timeout = orElse(k.Time, 2*time.Hour), orElse(k.Timeout, 20*time.Second)
	o.Enforcement.MinTime = orElse(o.Enforcement.MinTime, defaultMinPing)
	return o
}

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

// fault is a violation of HTTP/2 by the client, which ends the connection.
type fault struct {
	code http2.ErrCode
	text string
}

func (f *fault) Error() string { return fmt.Sprintf("%s: %s", f.code, f.text) }

func violation(code http2.ErrCode, format string, args ...any) error {
	return &fault{code, fmt.Sprintf(format, args...)}
}
