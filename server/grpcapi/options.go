package grpcapi

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"regexp"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/keepalive"

	"triton/pkg/kserve/rpc"
	"triton/pkg/log"
	"triton/pkg/tensor"
	"triton/server/access"
	"triton/server/frontend"
	"triton/server/infer"
	"triton/server/memory"
	"triton/server/shm"
	"triton/server/trace"
)

// Options configure the frontend. Settings of Triton that grpc-go has no use for (the
// two limits on pings, thread count, pool sizes) are missing.
type Options struct {
	// Pool is the source of message and tensor memory.
	Pool *tensor.Pool
	// Log receives internal errors; nil discards them.
	Log *slog.Logger
	// Credentials are the TLS credentials; nil serves plain text.
	Credentials credentials.TransportCredentials
	// HTTP answers requests that are no calls of gRPC, with TransportBuiltin; nil: they are refused.
	HTTP http.Handler

	KeepaliveTime       time.Duration // of silence until the server pings
	KeepaliveTimeout    time.Duration // for the reply to a ping
	MinPingInterval     time.Duration // clients that ping more often are disconnected
	PermitWithoutCalls  bool          // clients may ping without calls in flight
	MaxConnectionAge    time.Duration // 0: no limit
	MaxConnectionGrace  time.Duration // 0: no limit
	MaxConcurrentStream uint32        // per connection; 0: no limit
	// MaxHeaderList limits the size in bytes of the headers of a call, counted
	// as HTTP/2 does.
	MaxHeaderList uint32

	// MaxReceive limits the size in bytes of a message, as received and after
	// decompression.
	MaxReceive int
	// MaxReceiveConn limits the bytes of the messages in flight on one
	// connection. A message counts while it is received and until its call has
	// ended. 0: no limit.
	MaxReceiveConn int64
	// Memory is the memory for requests; nil has no limit.
	Memory *memory.Budget
	// ReadAhead limits the bytes that the requests of one stream may hold
	// before the next request is read: their inputs, and responses that the
	// client has not read. Flow control stops a client that does not read;
	// Triton would keep reading and fill the memory.
	ReadAhead int
	// MaxUnread is the limit of infer.ResponseBacklog for a stream, in bytes. Triton
	// has no limit.
	MaxUnread int
	// Workers is the number of goroutines with warm stacks that serve calls.
	// More concurrent calls start goroutines of their own, which costs about 10
	// us each for growing stacks.
	Workers uint32
	// StreamWindow and ConnWindow are the HTTP/2 flow control windows.
	StreamWindow, ConnWindow int32
	// ReadBuffer and WriteBuffer are the buffers of one connection while it
	// reads and writes; an idle connection has none.
	ReadBuffer, WriteBuffer int
	// HealthInterval is how often a health watch checks for a change.
	HealthInterval time.Duration

	Regions *shm.Manager  // the shared memory of clients; nil: none
	Tracer  *trace.Tracer // samples requests; nil: none are traced
	Logs    *log.Sink     // the settings that LogSettings changes; nil: none
	// Restricted says which calls need a secret. The metadata key is
	// "triton-grpc-protocol-" and the rule's name.
	Restricted frontend.Restrictions
	// Guard decides who may do what; nil: everybody may do everything.
	Guard *access.Guard
	// RefuseControl refuses the calls that a port for control serves.
	RefuseControl bool
	// Forward selects by name the metadata that become request parameters; nil:
	// none.
	Forward *regexp.Regexp
	// Transport serves the connections.
	Transport Transport
	// Compression is the level for inference responses.
	Compression Compression
	// AccessLog gets a record of every call; nil: none.
	AccessLog *slog.Logger
	// Delays are set by test suites; the zero value delays nothing.
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

// Delays are delays for tests, which Triton reads from the TRITONSERVER_DELAY_GRPC_*
// variables.
type Delays struct {
	Response, Complete, Process, ProcessEntry, Notification, CompleteExec, Enqueue, ResponseCompletion time.Duration
	// AdminResponse delays the responses of all calls except inference.
	AdminResponse time.Duration
}

// Default returns Triton's settings, and measured best values for the others.
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
		MaxUnread:        infer.DefaultResponseBacklog,
		Workers:          64,
		StreamWindow:     1 << 20,
		ConnWindow:       4 << 20,
		ReadBuffer:       64 << 10,
		WriteBuffer:      64 << 10,
		HealthInterval:   250 * time.Millisecond,

		MaxConcurrentStream: 1024,
	}
}

// minHeaderList is enough for the headers that gRPC itself sends with a call, and some
// more.
const minHeaderList = 1 << 10

// Validate returns all mistakes in the options.
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
	if o.MaxReceiveConn < 0 {
		errs = append(errs, fmt.Errorf("gRPC: messages in flight may take %d bytes on a connection, must be at least 0", o.MaxReceiveConn))
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

func (o *Options) keepalive() keepalive.ServerParameters {
	return keepalive.ServerParameters{
		Time: o.KeepaliveTime, Timeout: o.KeepaliveTimeout, MaxConnectionAge: o.MaxConnectionAge, MaxConnectionAgeGrace: o.MaxConnectionGrace,
	}
}

func (o *Options) enforcement() keepalive.EnforcementPolicy {
	return keepalive.EnforcementPolicy{MinTime: o.MinPingInterval, PermitWithoutStream: o.PermitWithoutCalls}
}

// ServerOptions returns the options for grpc.NewServer, including the codec.
func ServerOptions(o Options) []grpc.ServerOption {
	opts := []grpc.ServerOption{
		grpc.StreamInterceptor(newAdmin(&o).stream),
		grpc.Creds(newBudgetCredentials(&o, true)),
		grpc.MaxHeaderListSize(o.MaxHeaderList),
		grpc.ForceServerCodecV2(rpc.NewCodec(o.Pool)),
		experimental.BufferPool(&framePool{}),
		grpc.MaxRecvMsgSize(o.MaxReceive),
		grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.NumStreamWorkers(o.Workers),
		grpc.StaticStreamWindowSize(o.StreamWindow),
		grpc.StaticConnWindowSize(o.ConnWindow),
		grpc.ReadBufferSize(o.ReadBuffer),
		grpc.WriteBufferSize(o.WriteBuffer),
		grpc.KeepaliveParams(o.keepalive()),
		grpc.KeepaliveEnforcementPolicy(o.enforcement()),
	}
	if o.MaxConcurrentStream > 0 {
		opts = append(opts, grpc.MaxConcurrentStreams(o.MaxConcurrentStream))
	}
	return opts
}
