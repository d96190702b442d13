package http2

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// serverStream is what the handler of a call sees.
type serverStream stream

var _ grpc.ServerStream = (*serverStream)(nil)

// info describes the method to interceptors.
func (m *method) info() *grpc.StreamServerInfo {
	return &grpc.StreamServerInfo{FullMethod: m.name, IsClientStream: m.desc.ClientStreams, IsServerStream: m.desc.ServerStreams}
}

// Context implements grpc.ServerStream.
func (s *serverStream) Context() context.Context { return (*callContext)(s) }

// SetHeader implements grpc.ServerStream.
func (s *serverStream) SetHeader(md metadata.MD) error { return (*transportStream)(s).SetHeader(md) }

// SendHeader implements grpc.ServerStream.
func (s *serverStream) SendHeader(md metadata.MD) error { return (*transportStream)(s).SendHeader(md) }

// SetTrailer implements grpc.ServerStream.
func (s *serverStream) SetTrailer(md metadata.MD) { _ = (*transportStream)(s).SetTrailer(md) }

// identity is the encoding of messages that are not compressed.
const identity = encoding.Identity

func compressor(name string) encoding.Compressor { return encoding.GetCompressor(name) }

// SendMsg implements grpc.ServerStream. The message is written, or copied, when it returns.
func (s *serverStream) SendMsg(m any) error {
	call := (*stream)(s)
	plain := call.encoding == "" || call.encoding == identity
	if codec, ok := call.conn.opts.Codec.(appender); ok && plain {
		if b, ok := codec.AppendMessage(call.prefix(), m); ok {
			call.message = b
			return call.send(0, b, nil)
		}
	}
	data, err := call.conn.opts.Codec.Marshal(m)
	if err != nil {
		return status.Errorf(codes.Internal, "grpc: error while marshaling: %v", err)
	}
	defer func() { data.Free() }()
	compressed := byte(0)
	if !plain && data.Len() > 0 {
		packed, err := compress(compressor(call.encoding), data, call.conn.opts.Buffers)
		if err != nil {
			return err
		}
		data.Free()
		data, compressed = packed, 1
	}
	return call.send(compressed, call.prefix(), data)
}

// appender is a codec that can write short messages without buffers of their own.
type appender interface {
	AppendMessage(b []byte, m any) ([]byte, bool)
}

func compress(z encoding.Compressor, data mem.BufferSlice, pool mem.BufferPool) (out mem.BufferSlice, err error) {
	w, err := z.Compress(mem.NewWriter(&out, pool))
	for i := 0; err == nil && i < len(data); i++ {
		_, err = w.Write(data[i].ReadOnlyData())
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		out.Free()
		return nil, status.Errorf(codes.Internal, "grpc: error while compressing: %v", err)
	}
	return out, nil
}

// RecvMsg implements grpc.ServerStream. An error ends the call with its status, whatever the handler returns, as
// with grpc-go.
func (s *serverStream) RecvMsg(m any) error {
	err := (*stream)(s).receiveAll(m)
	if err != nil && !errors.Is(err, io.EOF) {
		(*stream)(s).finish(status.Convert(err))
	}
	return err
}

// receiveAll receives a message, and the end behind it if the client has only one.
func (s *stream) receiveAll(m any) error {
	err := s.receiveMessage(m)
	if s.head.rpc.desc.ClientStreams {
		return err
	}
	switch {
	case errors.Is(err, io.EOF):
		return status.Error(codes.Internal, "cardinality violation: received no request message from non-client-streaming RPC")
	case err != nil:
		return err
	}
	switch err := s.receiveMessage(m); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	}
	return status.Error(codes.Internal, "cardinality violation: received multiple request messages for non-client-streaming RPC")
}

// receiveMessage reads and decodes a message. The error is io.EOF behind the last one, or has a status.
func (s *stream) receiveMessage(m any) error {
	var prefix [prefixLen]byte
	if err := s.ReadMessageHeader(prefix[:]); err != nil {
		return endError(err)
	}
	size := messageSize(prefix)
	if size > s.conn.opts.MaxReceive {
		return status.Errorf(codes.ResourceExhausted, "grpc: received message larger than max (%d vs. %d)", size, s.conn.opts.MaxReceive)
	}
	data, err := s.Read(size)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return endError(err)
	}
	defer func() { data.Free() }()
	if prefix[0] > 1 {
		return status.Errorf(codes.Internal, "grpc: received unexpected payload format %d", prefix[0])
	}
	if prefix[0] == 1 {
		plain, err := s.decompress(data)
		if err != nil {
			return err
		}
		data.Free()
		data = plain
	}
	if err := s.conn.opts.Codec.Unmarshal(data, m); err != nil {
		return status.Errorf(codes.Internal, "grpc: failed to unmarshal the received message: %v", err)
	}
	return nil
}

// endError returns the status of a call whose client has sent a part of a message.
func endError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return status.Error(codes.Internal, io.ErrUnexpectedEOF.Error())
	}
	return err
}

func (s *stream) decompress(data mem.BufferSlice) (mem.BufferSlice, error) {
	z := compressor(s.head.encoding)
	if z == nil || s.head.encoding == identity {
		return nil, status.Error(codes.Internal, "grpc: compressed flag set with identity or empty encoding")
	}
	from := data.Reader()
	defer func() { _ = from.Close() }()
	r, err := z.Decompress(from)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "grpc: failed to decompress the message: %v", err)
	}
	limit := s.conn.opts.MaxReceive
	plain, err := mem.ReadAll(io.LimitReader(r, int64(limit)+1), s.conn.opts.Buffers)
	if err == nil && plain.Len() <= limit {
		return plain, nil
	}
	plain.Free()
	if err == nil {
		return nil, status.Errorf(codes.ResourceExhausted, "grpc: received message after decompression larger than max %d", limit)
	}
	return nil, status.Errorf(codes.Internal, "grpc: failed to decompress the message: %v", err)
}

// transportStream is what functions of gRPC find in the context of a call, and handlers that read messages in
// pieces.
type transportStream stream

var _ grpc.ServerTransportStream = (*transportStream)(nil)

// Method implements grpc.ServerTransportStream.
func (t *transportStream) Method() string { return t.head.path }

var (
	errHeaderSent = status.Error(codes.Internal, "the header of the call has been sent")
	errCallOver   = errors.New("the call has ended, or its header has been sent")
)

// SetHeader implements grpc.ServerTransportStream.
func (t *transportStream) SetHeader(md metadata.MD) error {
	if err := validate(md); err != nil || len(md) == 0 {
		return err
	}
	t.conn.mu.Lock()
	defer t.conn.mu.Unlock()
	if t.headerSent || t.over {
		return errHeaderSent
	}
	t.header = metadata.Join(t.header, md)
	return nil
}

// SendHeader implements grpc.ServerTransportStream.
func (t *transportStream) SendHeader(md metadata.MD) error {
	if err := validate(md); err != nil {
		return err
	}
	s, c := (*stream)(t), t.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case s.over:
		return contextError(s.err)
	case s.headerSent:
		return errHeaderSent
	}
	s.header = metadata.Join(s.header, md)
	err := s.appendHeader()
	c.flush(true)
	return err
}

// SetTrailer implements grpc.ServerTransportStream.
func (t *transportStream) SetTrailer(md metadata.MD) error {
	if err := validate(md); err != nil || len(md) == 0 {
		return err
	}
	t.conn.mu.Lock()
	defer t.conn.mu.Unlock()
	t.trailer = metadata.Join(t.trailer, md)
	return nil
}

// validate returns an error for metadata that cannot be sent.
func validate(md metadata.MD) error {
	for name, values := range md {
		name = strings.ToLower(name)
		if !validName(name) {
			return status.Errorf(codes.Internal, "the name %q of metadata has characters that HTTP/2 does not allow", name)
		}
		if strings.HasSuffix(name, binarySuffix) {
			continue
		}
		if slices.ContainsFunc(values, func(v string) bool { return strings.ContainsFunc(v, unprintable) }) {
			return status.Errorf(codes.Internal, "a value of the metadata %q has characters that are not printable ASCII", name)
		}
	}
	return nil
}

func unprintable(r rune) bool { return r < ' ' || r > '~' }

// ReadMessageHeader reads the bytes in front of a message. The error is io.EOF if there is no message, or
// io.ErrUnexpectedEOF if there is a part of one, or has a status.
func (t *transportStream) ReadMessageHeader(header []byte) error {
	return (*stream)(t).ReadMessageHeader(header)
}

// Read reads n bytes of a message, with errors as ReadMessageHeader. The caller frees them.
func (t *transportStream) Read(n int) (mem.BufferSlice, error) { return (*stream)(t).Read(n) }

// RecvCompress returns the encoding of the messages of the client; empty: they are not compressed.
func (t *transportStream) RecvCompress() string { return t.head.encoding }

// SetSendCompress sets the encoding of the messages that are sent.
func (t *transportStream) SetSendCompress(name string) error {
	t.conn.mu.Lock()
	defer t.conn.mu.Unlock()
	if t.headerSent || t.over {
		return errCallOver
	}
	t.encoding = name
	return nil
}

// ClientAdvertisedCompressors returns the encodings that the client accepts.
func (t *transportStream) ClientAdvertisedCompressors() []string {
	all := strings.Split(t.head.accepts, ",")
	for i, name := range all {
		all[i] = strings.TrimSpace(name)
	}
	return all
}
