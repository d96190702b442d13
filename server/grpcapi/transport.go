package grpcapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
)

// transport is the stream below a call. grpc.ServerStream reads whole messages only: a
// client that announces 2 GiB and sends them slowly would hold that memory on every
// stream before the call could be refused. gRPC has no hook in between: the tap handle
// and the stats handler see headers and whole messages, a buffer pool and a connection
// do not know the call. So messages are read from the result of
// grpc.ServerTransportStreamFromContext. Its methods are those that gRPC itself reads
// with; no server starts with a version of gRPC that has others, because of CheckTransport.
type transport interface {
	ReadMessageHeader(header []byte) error
	Read(n int) (mem.BufferSlice, error)
	RecvCompress() string
	// SetSendCompress and ClientAdvertisedCompressors are what functions of gRPC call for grpc-go's stream only.
	SetSendCompress(name string) error
	ClientAdvertisedCompressors() []string
}

func transportOf(ctx context.Context) transport {
	return grpc.ServerTransportStreamFromContext(ctx).(transport)
}

// CheckTransport returns an error if this version of gRPC does not let messages be read within
// limits. It makes a call to a server of its own, without a connection.
func CheckTransport() error {
	return checkTransport(func(s grpc.ServerTransportStream) bool { _, ok := s.(transport); return ok })
}

func checkTransport(fits func(grpc.ServerTransportStream) bool) error {
	ok := false
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		ok = fits(grpc.ServerTransportStreamFromContext(s.Context()))
		return nil
	}))
	defer server.Stop()
	server.ServeHTTP(discarded{http.Header{}}, &http.Request{
		Method: http.MethodPost, ProtoMajor: 2, URL: &url.URL{Path: "/service/method"},
		Header: http.Header{"Content-Type": {"application/grpc"}}, Body: http.NoBody,
	})
	if !ok {
		return errors.New("this program was built with a version of gRPC that does not let messages be read within limits")
	}
	return nil
}

// discarded is an answer that nothing reads.
type discarded struct{ header http.Header }

func (d discarded) Header() http.Header       { return d.header }
func (discarded) Write(b []byte) (int, error) { return io.Discard.Write(b) }
func (discarded) WriteHeader(int)             {}
func (discarded) Flush()                      {}
