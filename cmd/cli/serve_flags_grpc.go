package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"triton/server/grpcapi"
	"triton/server/restricted"
)

func (s *serveFlags) defineGRPC(b *flagBook) {
	b.group("GRPC")
	g, l := &s.opts.GRPC, &s.opts.GRPC.Limits
	g.Allow = !s.predicting()
	b.boolean(&g.Allow, "allow-grpc", "Listen for gRPC requests.")
	b.text(&g.Address, "grpc-address", "Address for gRPC.")
	s.port(b, &g.Port, "grpc-port", "Port for gRPC.")
	b.boolean(&g.Reuse, "reuse-grpc-port", "Let several servers listen at the same gRPC port.")
	s.pattern(b, &l.Forward, "grpc-header-forward-pattern", "gRPC metadata")
	s.encryption(b, &g.TLS, "grpc", "gRPC")
	b.choice("none", "grpc-infer-response-compression-level", "Compression of inference responses: none, low, medium or high.",
		func(v string) error {
			level, ok := map[string]grpcapi.Compression{
				"none": grpcapi.CompressNone, "low": grpcapi.CompressLow, "medium": grpcapi.CompressMedium, "high": grpcapi.CompressHigh,
			}[strings.ToLower(v)]
			if !ok {
				return errors.New("invalid argument for --grpc_infer_response_compression_level")
			}
			l.Compression = level
			return nil
		})
	s.secrets(b, &l.Restricted, restricted.GRPC, "grpc-restricted-protocol")
	s.defineKeepalive(b, l)
	s.defineGRPCLimits(b, l)
	s.defineGRPCUnused(b)
	s.finally(func() error {
		l.Holds = holds(s.getenv)
		return nil
	})
}

func (s *serveFlags) defineKeepalive(b *flagBook, l *grpcapi.Options) {
	b.duration(&l.KeepaliveTime, time.Millisecond, "grpc-keepalive-time", "Milliseconds of silence until a client is pinged.")
	b.duration(&l.KeepaliveTimeout, time.Millisecond, "grpc-keepalive-timeout", "Milliseconds until an unanswered ping ends a connection.")
	b.boolean(&l.PermitWithoutCalls, "grpc-keepalive-permit-without-calls", "Clients may ping while they have no calls.")
	b.duration(&l.MinPingInterval, time.Millisecond, "grpc-http2-min-recv-ping-interval-without-data",
		"Milliseconds between pings that a client must keep.")
	b.duration(&l.MaxConnectionAge, time.Millisecond, "grpc-max-connection-age", "Milliseconds that a connection may last; 0 is no limit.")
	b.duration(&l.MaxConnectionGrace, time.Millisecond, "grpc-max-connection-age-grace",
		"Milliseconds more for the calls of such a connection; 0 is no limit.")
}

// defineGRPCLimits are flags that Triton has not.
func (s *serveFlags) defineGRPCLimits(b *flagBook, l *grpcapi.Options) {
	streams, headers := int64(l.MaxConcurrentStream), int64(l.MaxHeaderList)
	b.integer(intValue{to: &streams, min: 0, max: maxInt32}, "grpc-max-concurrent-streams",
		"Most calls that a connection may have at a time; a client keeps further calls back. 0 is no limit.")
	b.integer(intValue{to: &headers, min: 1 << 10, max: maxInt32}, "grpc-max-header-list-size",
		"Most bytes of metadata that a call may have.")
	b.integer(intValue{to: &l.MaxReceiveConn, min: 0, max: maxInt}, "grpc-max-connection-receive-size",
		"Most bytes that the messages of one connection may take, from their first byte until their calls have ended; a message "+
			"that would take more is refused with RESOURCE_EXHAUSTED. 0 is no limit but that of the server.")
	b.integer(intValue{to: &l.MaxReceiveAll, min: 0, max: maxInt}, "grpc-max-receive-size",
		"The same for the messages of all connections. 0 is half of the memory of the machine or container.")
	b.ours("grpc-max-concurrent-streams", "grpc-max-header-list-size", "grpc-max-connection-receive-size", "grpc-max-receive-size")
	s.finally(func() error {
		l.MaxConcurrentStream, l.MaxHeaderList = uint32(streams), uint32(headers)
		return nil
	})
}

func (s *serveFlags) defineGRPCUnused(b *flagBook) {
	number := func(n int64) intValue { return intValue{to: &n, min: minInt32, max: maxInt32} }
	const objects = "nothing is kept back: memory for messages grows and shrinks with the load"
	b.unused(number(2), "grpc-http2-max-pings-without-data", "Pings without data between them.", "the server pings by --grpc-keepalive-time alone")
	b.unused(number(2), "grpc-http2-max-ping-strikes", "Pings too many before a connection ends.", "the limit is 2 pings too many")
	infer := int64(2)
	b.unused(intValue{&infer, 2, 128, "invalid argument for --grpc_infer_thread_count. Must be in the range 2 to 128."},
		"grpc-infer-thread-count", "Threads for gRPC inference.", noThreads)
	b.unused(number(8), "grpc-infer-allocation-pool-size", "State objects kept for reuse.", objects)
	pool := int64(math.MaxInt32)
	b.unused(intValue{&pool, 1, maxInt32, "Error: --grpc-max-response-pool-size must be greater than 0."},
		"grpc-max-response-pool-size", "Response objects kept for reuse.", objects)
}

// holds are the delays that test suites ask for by environment variable. What
// is no number is no delay.
func holds(getenv func(string) string) grpcapi.Holds {
	wait := func(name string, unit time.Duration) time.Duration {
		n, err := strconv.ParseInt(getenv(name), 10, 32)
		if err != nil || n < 0 {
			return 0
		}
		return time.Duration(n) * unit
	}
	const ms = time.Millisecond
	return grpcapi.Holds{
		Response:           wait("TRITONSERVER_DELAY_GRPC_RESPONSE", ms),
		Complete:           wait("TRITONSERVER_DELAY_GRPC_COMPLETE", ms),
		Process:            wait("TRITONSERVER_DELAY_GRPC_PROCESS", ms),
		ProcessEntry:       wait("TRITONSERVER_DELAY_GRPC_PROCESS_ENTRY", ms),
		Notification:       wait("TRITONSERVER_DELAY_GRPC_NOTIFICATION", ms),
		CompleteExec:       wait("TRITONSERVER_DELAY_RESPONSE_COMPLETE_EXEC", ms),
		Enqueue:            wait("TRITONSERVER_DELAY_GRPC_ENQUEUE", ms),
		ResponseCompletion: wait("TRITONSERVER_DELAY_RESPONSE_COMPLETION", ms),
		AdminResponse:      wait("TRITONSERVER_SERVER_DELAY_GRPC_RESPONSE_SEC", time.Second),
	}
}
