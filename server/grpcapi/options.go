package grpcapi

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"triton/pkg/kserve/rpc"
	"triton/pkg/log"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/restricted"
	"triton/server/shm"
	"triton/server/trace"
)

// Options are the settings of the frontend. Those of Triton that grpc-go has
// no use for (the two limits on pings, thread count, pool sizes) are not here.
type Options struct {
	// Pool is where message and tensor memory comes from.
	Pool *tensor.Pool
	// Log is for faults of the server; nil keeps them quiet.
	Log *slog.Logger
	// Credentials are for TLS; nil serves plain text.
	Credentials credentials.TransportCredentials

	KeepaliveTime       time.Duration // of silence until the server asks
	KeepaliveTimeout    time.Duration // for the answer
	MinPingInterval     time.Duration // clients that ask more often are refused
	PermitWithoutCalls  bool          // clients may ask without calls in flight
	MaxConnectionAge    time.Duration // 0: no limit
	MaxConnectionGrace  time.Duration // 0: no limit
	MaxConcurrentStream uint32        // per connection; 0: no limit
	// MaxHeaderList is the size in bytes of the largest list of headers of a call,
	// counted as HTTP/2 does.
	MaxHeaderList uint32

	// MaxReceive is the size in bytes of the largest message taken, as received and
	// after it was decompressed.
	MaxReceive int
	// MaxReceiveConn and MaxReceiveAll are what the messages in flight of one
	// connection and of all connections may take, in bytes: while they are received,
	// and until their calls have ended. 0: no limit.
	MaxReceiveConn, MaxReceiveAll int64
	// ReadAhead is what the requests of one stream may hold, in bytes, before the
	// next one is read: their inputs, and responses that the client has not taken.
	// A client that takes none is stopped by flow control instead of filling the
	// memory; Triton reads on.
	ReadAhead int
	// MaxUnread is what infer.Backlog allows a stream, in bytes. In Triton there is
	// no limit.
	MaxUnread int
	// Workers is how many goroutines with warm stacks stand ready for calls;
	// more calls at a time than that start goroutines of their own, which costs
	// some 10 us of growing stacks.
	Workers uint32
	// StreamWindow and ConnWindow are the HTTP/2 flow control windows.
	StreamWindow, ConnWindow int32
	// ReadBuffer and WriteBuffer are the buffers of one connection while it reads
	// and writes; an idle one has none.
	ReadBuffer, WriteBuffer int
	// HealthInterval is how often a health watch looks for a change.
	HealthInterval time.Duration

	// Regions is the shared memory of clients, Tracer samples requests, Logs is
	// what LogSettings changes. Each may be nil: the server has none.
	Regions *shm.Manager
	Tracer  *trace.Tracer
	Logs    *log.Sink
	// Restricted says which calls need a secret; the name of its metadata key is
	// "triton-grpc-protocol-" and the rule's own.
	Restricted restricted.Rules
	// Forward chooses by name which metadata become request parameters; nil: none.
	Forward *regexp.Regexp
	// Compression is the level for inference responses.
	Compression Compression
	// Access logs every call; nil does not.
	Access *slog.Logger
	// Delays are delays that test suites switch on; the zero value has none.
	Delays Delays
}

// Compression is --grpc-infer-response-compression-level.
type Compression uint8

// The levels.
const (
	CompressNone Compression = iota
	CompressLow
	CompressMedium
	CompressHigh
)

// Delays are delays for tests, as the TRITONSERVER_DELAY_GRPC_* variables set
// them for Triton.
type Delays struct {
	Response, Complete, Process, ProcessEntry, Notification, CompleteExec, Enqueue, ResponseCompletion time.Duration
	// AdminResponse delays all calls but inference.
	AdminResponse time.Duration
}

// Default is Triton's settings, and what was measured to serve best.
func Default(pool *tensor.Pool) Options {
	return Options{
		Pool:             pool,
		KeepaliveTime:    2 * time.Hour,
		KeepaliveTimeout: 20 * time.Second,
		MinPingInterval:  5 * time.Minute,
		MaxReceive:       math.MaxInt32,
		MaxReceiveConn:   4 << 30,
		MaxHeaderList:    64 << 10,
		ReadAhead:        256 << 20,
		MaxUnread:        infer.DefaultBacklog,
		Workers:          64,
		StreamWindow:     1 << 20,
		ConnWindow:       4 << 20,
		ReadBuffer:       64 << 10,
		WriteBuffer:      64 << 10,
		HealthInterval:   250 * time.Millisecond,

		MaxConcurrentStream: 1024,
	}
}

// minHeaderList is what the headers of a call take that gRPC itself sends, and some
// more.
const minHeaderList = 1 << 10

// Validate finds everything that is wrong.
func (o Options) Validate() error {
	var errs []error
	if o.Pool == nil {
		errs = append(errs, errors.New("gRPC: no memory pool"))
	}
	if o.ReadAhead < 0 || o.MaxUnread < 0 {
		errs = append(errs, fmt.Errorf("gRPC: streams read %d bytes ahead and keep %d unread, must be at least 0", o.ReadAhead, o.MaxUnread))
	}
	if o.MaxReceive < 1 {
		errs = append(errs, fmt.Errorf("gRPC: largest message is %d bytes, must be at least 1", o.MaxReceive))
	}
	if o.MaxReceiveConn < 0 || o.MaxReceiveAll < 0 {
		errs = append(errs, fmt.Errorf("gRPC: messages in flight may take %d bytes on a connection and %d in all, must be at least 0",
			o.MaxReceiveConn, o.MaxReceiveAll))
	}
	if o.MaxHeaderList < minHeaderList {
		errs = append(errs, fmt.Errorf("gRPC: largest list of headers is %d bytes, must be at least %d", o.MaxHeaderList, minHeaderList))
	}
	for _, c := range []struct {
		name string
		d    time.Duration
		min  time.Duration
	}{
		{"keepalive time", o.KeepaliveTime, 1},
		{"keepalive timeout", o.KeepaliveTimeout, 1},
		{"health interval", o.HealthInterval, 1},
		{"minimum ping interval", o.MinPingInterval, 0},
		{"maximum connection age", o.MaxConnectionAge, 0},
		{"maximum connection age grace", o.MaxConnectionGrace, 0},
	} {
		if c.d < c.min {
			errs = append(errs, fmt.Errorf("gRPC: %s is %v, must be at least %v", c.name, c.d, c.min))
		}
	}
	return errors.Join(errs...)
}

// ServerOptions returns the options for grpc.NewServer. The codec is part of them.
func ServerOptions(o Options) []grpc.ServerOption {
	opts := []grpc.ServerOption{
		grpc.StreamInterceptor(newAdmin(&o).stream),
		grpc.Creds(newAccounts(&o)),
		grpc.MaxHeaderListSize(o.MaxHeaderList),
		grpc.ForceServerCodecV2(rpc.NewCodec(o.Pool)),
		grpc.MaxRecvMsgSize(o.MaxReceive),
		grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.NumStreamWorkers(o.Workers),
		grpc.StaticStreamWindowSize(o.StreamWindow),
		grpc.StaticConnWindowSize(o.ConnWindow),
		grpc.ReadBufferSize(o.ReadBuffer),
		grpc.WriteBufferSize(o.WriteBuffer),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time:                  o.KeepaliveTime,
			Timeout:               o.KeepaliveTimeout,
			MaxConnectionAge:      o.MaxConnectionAge,
			MaxConnectionAgeGrace: o.MaxConnectionGrace,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime:             o.MinPingInterval,
			PermitWithoutStream: o.PermitWithoutCalls,
		}),
	}
	if o.MaxConcurrentStream > 0 {
		opts = append(opts, grpc.MaxConcurrentStreams(o.MaxConcurrentStream))
	}
	return opts
}
