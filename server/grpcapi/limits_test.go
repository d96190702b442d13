package grpcapi_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve/rpc"
	"triton/server/frontend"
	"triton/server/grpcapi"
	"triton/server/memory"
)

// slowClient speaks HTTP/2 frame by frame and sees the frames of the server.
type slowClient struct {
	t      *testing.T
	conn   net.Conn
	framer *http2.Framer
	header bytes.Buffer
	hpack  *hpack.Encoder
	// settings are the server's.
	settings map[http2.SettingID]uint32
}

func newSlowClient(t *testing.T, addr string) *slowClient {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(60*time.Second)))
	return slowClientOver(t, conn)
}

// slowClientOver begins to speak over conn.
func slowClientOver(t *testing.T, conn net.Conn) *slowClient {
	t.Helper()
	_, err := conn.Write([]byte(http2.ClientPreface))
	require.NoError(t, err)
	c := &slowClient{t: t, conn: conn, framer: http2.NewFramer(conn, conn), settings: map[http2.SettingID]uint32{}}
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.hpack = hpack.NewEncoder(&c.header)
	require.NoError(t, c.framer.WriteSettings())
	f, err := c.framer.ReadFrame()
	require.NoError(t, err)
	require.NoError(t, f.(*http2.SettingsFrame).ForeachSetting(func(s http2.Setting) error {
		c.settings[s.ID] = s.Val
		return nil
	}))
	return c
}

// open begins a call.
func (c *slowClient) open(id uint32, method string) {
	c.t.Helper()
	c.header.Reset()
	for _, h := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", method},
		{":authority", "x"},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	} {
		require.NoError(c.t, c.hpack.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}))
	}
	require.NoError(c.t, c.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: c.header.Bytes(), EndHeaders: true,
	}))
}

// announce begins a message of size bytes.
func (c *slowClient) announce(id uint32, size int) {
	c.t.Helper()
	require.NoError(c.t, c.framer.WriteData(id, false, binary.BigEndian.AppendUint32([]byte{0}, uint32(size))))
}

// send sends n bytes of a message, in frames.
func (c *slowClient) send(id uint32, n, frame int) {
	c.t.Helper()
	for n > 0 {
		k := min(n, frame)
		require.NoError(c.t, c.framer.WriteData(id, false, make([]byte, k)))
		n -= k
	}
}

// end is how the server ended a stream.
type end struct {
	code    codes.Code
	message string
	reset   http2.ErrCode
}

// await reads until that many streams have ended.
func (c *slowClient) await(n int) map[uint32]end {
	c.t.Helper()
	ends := map[uint32]end{}
	for len(ends) < n {
		f, err := c.framer.ReadFrame()
		require.NoError(c.t, err)
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			for _, h := range f.Fields {
				e := ends[f.StreamID]
				switch h.Name {
				case "grpc-status":
					code, err := strconv.Atoi(h.Value)
					require.NoError(c.t, err)
					e.code = codes.Code(code)
					ends[f.StreamID] = e
				case "grpc-message":
					e.message = h.Value
					ends[f.StreamID] = e
				}
			}
		case *http2.RSTStreamFrame:
			if _, known := ends[f.StreamID]; !known {
				ends[f.StreamID] = end{reset: f.ErrCode}
			}
		}
	}
	return ends
}

// TestStreamCap: the server announces how many streams a connection may have, and refuses more,
// so that the client sends them again.
func TestStreamCap(t *testing.T) {
	t.Parallel()
	c := newSlowClient(t, serveTCP(t, newStub()))
	require.EqualValues(t, 1024, c.settings[http2.SettingMaxConcurrentStreams])
	require.EqualValues(t, 64<<10, c.settings[http2.SettingMaxHeaderListSize])
	for i := range uint32(1025) {
		c.open(2*i+1, rpc.ModelStreamInfer)
	}
	require.Equal(t, map[uint32]end{2049: {reset: http2.ErrCodeRefusedStream}}, c.await(1))
}

// TestHeaderLimit: a list of headers that is too long ends that call alone.
func TestHeaderLimit(t *testing.T) {
	t.Parallel()
	s := newStub()
	client := inferencepb.NewGRPCInferenceServiceClient(serve(t, s, s, func(o *grpcapi.Options) { o.MaxHeaderList = 8 << 10 }))
	infer := func(size int) error {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "long", string(bytes.Repeat([]byte("x"), size)))
		_, err := client.ModelInfer(ctx, echoRequest(pattern(10)))
		return err
	}
	require.NoError(t, infer(7<<10))
	require.Error(t, infer(9<<10))
	require.NoError(t, infer(7<<10))
}

// serveLimited is serveTCP with budgets of bytes for a connection and for all.
func serveLimited(t *testing.T, s *stub, conn, all int64) string {
	t.Helper()
	return serveTCP(t, s, func(o *grpcapi.Options) { o.MaxReceiveConn, o.Memory = conn, memory.New(all) })
}

const (
	ofConnection = "no memory for this message: the messages in flight of the connection may take 4194304 bytes (--grpc-max-connection-receive-size)"
)

// TestSlowSenders: clients that send very large messages slowly, on many streams or on many
// connections and in frames of any size, take no more memory than the budget. Refused and
// abandoned messages release their charge.
func TestSlowSenders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		conn, all int64
		each      int // streams of a connection
		method    string
		frame     int
		want      string // the beginning
	}{
		"one connection":  {4 << 20, 0, 32, rpc.ModelInfer, 16 << 10, ofConnection},
		"streams":         {4 << 20, 0, 32, rpc.ModelStreamInfer, 16 << 10, ofConnection},
		"administration":  {4 << 20, 0, 32, "/" + rpc.Service + "/RepositoryModelLoad", 16 << 10, ofConnection},
		"frames of 1025":  {4 << 20, 0, 32, rpc.ModelInfer, 1025, ofConnection},
		"small frames":    {4 << 20, 0, 32, rpc.ModelInfer, 100, ofConnection},
		"two connections": {0, 5 << 20, 16, rpc.ModelInfer, 16 << 10, "no memory for "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStub()
			addr := serveLimited(t, s, c.conn, c.all)
			var slow []*slowClient
			for range 32 / c.each {
				slow = append(slow, newSlowClient(t, addr))
			}
			for i := range uint32(c.each) {
				for _, s := range slow {
					s.open(2*i+1, c.method)
					s.announce(2*i+1, 4<<20)
					s.send(2*i+1, 256<<10, c.frame) // all together twice the budget
				}
			}
			refused := map[uint32]end{}
			for _, s := range slow {
				maps.Copy(refused, s.await(1))
			}
			for id, e := range refused {
				require.Equal(t, codes.ResourceExhausted, e.code, id)
				require.True(t, strings.HasPrefix(e.message, c.want), e.message)
			}
			for _, c := range slow {
				c.conn.Close()
			}
			client := inferencepb.NewGRPCInferenceServiceClient(dialTCP(t, addr))
			require.Eventually(t, func() bool {
				_, err := client.ModelInfer(t.Context(), echoRequest(pattern(3<<20)))
				return err == nil
			}, 30*time.Second, 10*time.Millisecond, "not all was paid back")
		})
	}
}

// TestBudgetOfRequestsInFlight: requests that wait for their model count.
func TestBudgetOfRequestsInFlight(t *testing.T) {
	t.Parallel()
	s := newStub()
	entered, leave := make(chan struct{}, 8), make(chan struct{})
	s.block = func(context.Context) error {
		entered <- struct{}{}
		<-leave
		return nil
	}
	conn := dialTCP(t, serveLimited(t, s, 4<<20, 0))
	client := inferencepb.NewGRPCInferenceServiceClient(conn)
	first := make(chan error, 1)
	go func() {
		_, err := client.ModelInfer(t.Context(), echoRequest(pattern(3<<20)))
		first <- err
	}()
	<-entered
	_, err := client.ModelInfer(t.Context(), echoRequest(pattern(3<<20)))
	require.Equal(t, codes.ResourceExhausted, grpcstatus.Code(err))
	require.Equal(t, ofConnection, grpcstatus.Convert(err).Message())
	_, err = client.ServerLive(t.Context(), &inferencepb.ServerLiveRequest{})
	require.NoError(t, err)
	close(leave)
	require.NoError(t, <-first)
	for range 3 { // nothing is left of it
		_, err = client.ModelInfer(t.Context(), echoRequest(pattern(3<<20)))
		require.NoError(t, err)
	}
}

// TestBudgetOfTypedContents: the tensors that are decoded from typed contents count too.
func TestBudgetOfTypedContents(t *testing.T) {
	t.Parallel()
	s, budget := newStub(), memory.New(8<<20)
	s.pool.SetAccount(budget.Pools())
	client := inferencepb.NewGRPCInferenceServiceClient(dialTCP(t, serveTCP(t, s, func(o *grpcapi.Options) { o.Memory = budget })))
	infer := func(n int) error {
		_, err := client.ModelInfer(t.Context(), &inferencepb.ModelInferRequest{
			ModelName: "echo",
			Inputs: []*inferencepb.ModelInferRequest_InferInputTensor{{
				Name: "X", Datatype: "INT64", Shape: []int64{int64(n)},
				Contents: &inferencepb.InferTensorContents{Int64Contents: make([]int64, n)},
			}},
		})
		return err
	}
	for range 3 {
		err := infer(1 << 20) // one MiB becomes eight
		require.Equal(t, codes.ResourceExhausted, grpcstatus.Code(err), "%v", err)
		require.NoError(t, infer(64<<10))
	}
	require.Eventually(t, func() bool { return budget.Total() == 0 }, time.Minute, time.Millisecond)
}

// TestBudgetOfCompressed: the decompressed size of messages counts.
func TestBudgetOfCompressed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: compresses or copies much")
	}
	for _, name := range []string{"gzip", "deflate"} {
		conn := dialTCP(t, serveLimited(t, newStub(), 4<<20, 0),
			grpc.WithCompressor(sends{name, bomb(t, name, 8<<20)})) //nolint:staticcheck // the only per-connection way
		for range 3 {
			_, err := inferencepb.NewGRPCInferenceServiceClient(conn).ModelInfer(t.Context(), echoRequest(nil))
			require.Equal(t, codes.ResourceExhausted, grpcstatus.Code(err))
			require.Equal(t, ofConnection, grpcstatus.Convert(err).Message())
		}
	}
}

// TestTinyFrames: a message in many tiny frames arrives whole.
func TestTinyFrames(t *testing.T) {
	t.Parallel()
	addr := serveTCP(t, newStub())
	msg, err := proto.Marshal(echoRequest(pattern(50_000)))
	require.NoError(t, err)
	msg = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(msg))), msg...)
	for _, frame := range []int{1, 7, 255, 256, 257, 1025, 16384} {
		c := newSlowClient(t, addr)
		c.open(1, rpc.ModelInfer)
		for b := msg; len(b) > 0; {
			n := min(frame, len(b))
			require.NoError(t, c.framer.WriteData(1, n == len(b), b[:n]))
			b = b[n:]
		}
		require.Equal(t, map[uint32]end{1: {}}, c.await(1), "frames of %d bytes", frame)
	}
}

// TestRestrictedIsNotRead: a call without its secret is refused before its message has arrived.
func TestRestrictedIsNotRead(t *testing.T) {
	t.Parallel()
	rules, err := frontend.ParseRestrictions(frontend.RestrictedProtocol, []string{"model-repository:key=secret"})
	require.NoError(t, err)
	c := newSlowClient(t, serveTCP(t, newStub(), func(o *grpcapi.Options) { o.Restricted = rules }))
	c.open(1, "/"+rpc.Service+"/RepositoryModelLoad")
	c.announce(1, 1<<30)
	require.Equal(t, map[uint32]end{1: {
		code: codes.Unavailable, message: "This protocol is restricted, expecting header 'triton-grpc-protocol-key'",
	}}, c.await(1))
}
