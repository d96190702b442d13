package perf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/perf/recording"
	"triton/pkg/ui"
)

// recordOptions holds what the flags set.
type recordOptions struct {
	listen, url, protocol, file string
	memory                      int // MiB
}

func (o *recordOptions) bind(f *flags.Set) {
	f.StringVar(&o.listen, "listen", "localhost:9000", "address at which clients connect")
	f.StringVarP(&o.url, "url", "u", "", "address of the server (default localhost:8000, with gRPC localhost:8001)")
	f.StringVarP(&o.protocol, "protocol", "i", "http", "protocol: http or grpc")
	f.StringVarP(&o.file, "output-file", "o", "trace.jsonl", "trace to write")
	f.IntVar(&o.memory, "memory", recording.DefaultMemory>>20, "MiB of requests that wait for their end; more are forwarded and not recorded")
}

// newRecordCommand returns `triton perf record`.
func newRecordCommand(p process.Process) *cobra.Command {
	var o recordOptions
	cmd := &cobra.Command{
		Use:   "record --listen ADDRESS -u SERVER -o TRACE",
		Short: "Record the requests of clients, to send them again",
		Long: `Forward the requests of clients to a server unchanged, and write those for
inference to a trace: the time of their arrival and their tensors. Ctrl-C ends the
recording after the requests in flight. 'triton perf replay TRACE' sends the
requests again.

Requests over gRPC, also those of streams, are recorded with --protocol grpc.
Inputs in shared memory cannot be recorded. A trace has what clients send: keep it
as safe as that.`,
		Example: `  triton perf record --listen :9000 -u localhost:8000 -o trace.jsonl
  triton perf replay trace.jsonl -u localhost:8000 --speed 2`,
		Args: cobra.NoArgs,
	}
	f := flags.New(p, "perf record", cmd.Flags())
	o.bind(f)
	f.FillBefore(cmd, nil)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return runRecord(cmd.Context(), p, o)
	}
	return cmd
}

// upstream is the server of the recording.
type upstream struct {
	name  string
	proxy func(*recording.Recorder) (*proxy, error)
}

// proxy is a frontend of the recording.
type proxy struct {
	serve func(net.Listener) error
	// drain ends it after the requests in flight, or when ctx ends.
	drain func(ctx context.Context)
}

func runRecord(ctx context.Context, p process.Process, o recordOptions) (err error) {
	protocol := strings.ToLower(o.protocol)
	switch {
	case protocol != "http" && protocol != "grpc":
		return process.UsageError("--protocol: unknown protocol %q: use http or grpc", o.protocol)
	case o.memory < 1:
		return process.UsageError("--memory: %d is less than 1", o.memory)
	}
	newUpstream := newHTTPUpstream
	if protocol == "grpc" {
		newUpstream = newGRPCUpstream
	}
	server, err := newUpstream(o.url)
	if err != nil {
		return process.UsageError("--url: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return process.UsageError("--listen: %w", err)
	}
	defer listener.Close()
	file, err := os.OpenFile(o.file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return process.UsageError("--output-file: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	name := map[string]string{"http": "HTTP", "grpc": "gRPC"}[protocol]
	r, err := recording.NewRecorder(file, recording.Options{Program: "triton perf record " + p.Version, Protocol: name, Memory: int64(o.memory) << 20})
	if err != nil {
		return err
	}
	x, err := server.proxy(r)
	if err != nil {
		return errors.Join(process.UsageError("--url: %w", err), r.Close())
	}
	fmt.Fprintf(p.Stdout, "Recording %s requests at %s for %s into %s. Ctrl-C ends the recording.\n", name, listener.Addr(), server.name, o.file)
	err = serveProxy(ctx, p, r, listener, x)
	err = errors.Join(err, r.Close())
	tellRecorded(p, r.Counts(), o.file)
	return err
}

// drainTime is how long requests in flight may take after the first signal.
const drainTime = 30 * time.Second

// serveProxy serves until a signal, the end of ctx or an error.
func serveProxy(ctx context.Context, p process.Process, r *recording.Recorder, listener net.Listener, x *proxy) error {
	stopped := make(chan struct{})
	draining, quit := context.WithCancel(ctx)
	stop := p.OnSignal(process.SignalWindow, func(os.Signal) { close(stopped) }, func(os.Signal) { quit() })
	defer func() {
		quit()
		stop()
	}()
	served := make(chan struct{})
	var err error // of serving; read after served
	go func() {
		defer close(served)
		err = x.serve(listener)
	}()
	select {
	case <-served:
	case <-stopped:
	case <-ctx.Done():
	case <-r.Failed(): // Close returns the error
	}
	limit, cancel := context.WithTimeout(draining, drainTime)
	defer cancel()
	x.drain(limit)
	<-served
	return err
}

func newHTTPUpstream(address string) (*upstream, error) {
	address = cmp.Or(address, "localhost:8000")
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	server, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	if server.Scheme != "http" && server.Scheme != "https" || server.Host == "" {
		return nil, fmt.Errorf("%q is no address such as localhost:8000 or https://host", address)
	}
	return &upstream{server.Redacted(), func(r *recording.Recorder) (*proxy, error) { return httpProxy(r, server), nil }}, nil
}

func httpProxy(r *recording.Recorder, server *url.URL) *proxy {
	// One connection for each request in flight, as the clients themselves would have.
	transport := &http.Transport{
		Proxy: nil, DisableCompression: true, MaxIdleConnsPerHost: math.MaxInt32, IdleConnTimeout: time.Minute,
		DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
	}
	s := &http.Server{Handler: r.HTTP(server, transport), ReadHeaderTimeout: time.Minute}
	return &proxy{
		serve: func(l net.Listener) error {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		},
		drain: func(ctx context.Context) {
			if s.Shutdown(ctx) != nil {
				_ = s.Close()
			}
			transport.CloseIdleConnections()
		},
	}
}

func newGRPCUpstream(address string) (*upstream, error) {
	address = cmp.Or(address, "localhost:8001")
	secure := insecure.NewCredentials()
	if host, ok := strings.CutPrefix(address, "grpcs://"); ok {
		address, secure = host, credentials.NewTLS(nil)
	}
	address = strings.TrimPrefix(address, "grpc://")
	return &upstream{address, func(r *recording.Recorder) (*proxy, error) { return grpcProxy(r, address, secure) }}, nil
}

func grpcProxy(r *recording.Recorder, address string, secure credentials.TransportCredentials) (*proxy, error) {
	server, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(secure))
	if err != nil {
		return nil, err
	}
	s := r.GRPC(server, math.MaxInt32)
	return &proxy{
		serve: s.Serve,
		drain: func(ctx context.Context) {
			done := make(chan struct{})
			go func() {
				s.GracefulStop()
				close(done)
			}()
			select {
			case <-done:
			case <-ctx.Done():
				s.Stop()
				<-done
			}
			_ = server.Close()
		},
	}, nil
}

// tellRecorded says what the recording has, and what it does not.
func tellRecorded(p process.Process, c recording.Counts, file string) {
	fmt.Fprintf(p.Stdout, "Recorded %s in %s.\n", ui.Plural(int(c.Recorded), "request"), file)
	if c.Failed > 0 {
		fmt.Fprintf(p.Stderr, "%s for inference not recorded, the first one because: %s\n", ui.Plural(int(c.Failed), "request"), c.FirstFailure)
	}
	if c.TooLarge > 0 {
		fmt.Fprintf(p.Stderr, "%s for inference not recorded for want of memory: --memory sets it.\n", ui.Plural(int(c.TooLarge), "request"))
	}
}
