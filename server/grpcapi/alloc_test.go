//go:build !race

package grpcapi_test

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/protobuf/proto"

	"triton/pkg/h2frame"
	"triton/pkg/inferencepb"
	"triton/pkg/kserve/rpc"
	"triton/server"
	"triton/server/grpcapi"
	"triton/server/servertest"
)

// leanClient makes one call after the other, and takes no memory for them.
type leanClient struct {
	conn   net.Conn
	frames []byte // of a call
	heads  [2]int // where the number of the call is
	id     uint32
	in     [64 << 10]byte
}

// newLeanClient opens a connection and makes the first call, whose header fields become entries of the table. Those of
// the others refer to them, as with all clients.
func newLeanClient(t *testing.T, addr string, message []byte) *leanClient {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	require.NoError(t, err)
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	t.Cleanup(func() { conn.Close() })
	c := &leanClient{conn: conn, id: 1}
	fields := [][2]string{{":path", rpc.ModelInfer}, {":authority", "a"}, {"content-type", "application/grpc"}, {"te", "trailers"}}
	first, again := []byte{0x83, 0x86}, []byte{0x83, 0x86} // POST, http
	for i, f := range fields {
		first = h2frame.AppendField(first, h2frame.Incremental, f[0], f[1])
		again = h2frame.AppendInt(again, h2frame.Indexed, 7, h2frame.StaticEntries+len(fields)-i)
	}
	frames := func(block []byte) []byte {
		b := h2frame.AppendBlock(nil, block, c.id, false, h2frame.SmallestMax)
		b = h2frame.AppendHead(b, 5+len(message), http2.FrameData, http2.FlagDataEndStream, c.id)
		return append(binary.BigEndian.AppendUint32(append(b, 0), uint32(len(message))), message...)
	}
	opening := h2frame.AppendHead([]byte(http2.ClientPreface), 0, http2.FrameSettings, 0, 0)
	c.frames = append(h2frame.AppendWindowUpdate(opening, 0, 1<<30), frames(first)...)
	require.NoError(t, c.roundTrip())
	c.frames, c.heads = frames(again), [2]int{5, h2frame.HeadLen + len(again) + 5}
	return c
}

func (c *leanClient) call() error {
	for _, at := range c.heads {
		binary.BigEndian.PutUint32(c.frames[at:], c.id)
	}
	return c.roundTrip()
}

// roundTrip sends the frames, and reads until the call has ended.
func (c *leanClient) roundTrip() error {
	if _, err := c.conn.Write(c.frames); err != nil {
		return err
	}
	for n, ended := 0, false; !ended; {
		k, err := c.conn.Read(c.in[n:])
		if err != nil {
			return err
		}
		rest := c.in[:n+k]
		for {
			h, ok := h2frame.ReadHead(rest)
			if !ok || len(rest) < h2frame.HeadLen+h.Len {
				break
			}
			rest = rest[h2frame.HeadLen+h.Len:]
			ended = ended || h.Kind == http2.FrameHeaders && h.Has(http2.FlagHeadersEndStream) && h.ID == c.id
		}
		n = copy(c.in[:], rest)
	}
	c.id += 2
	return nil
}

// TestInferAllocatesNothing: a short inference takes no memory of its own, from the socket to the socket, over our own
// transport.
func TestInferAllocatesNothing(t *testing.T) { // not parallel: it counts the allocations of the process
	srv := startServer(t, servertest.Model("identity", servertest.Identity("INT32", "1", 0)),
		servertest.With(func(o *server.Options) { o.GRPC.Frontend.Transport = grpcapi.TransportBuiltin }))
	message, err := proto.Marshal(&inferencepb.ModelInferRequest{
		ModelName:        "identity",
		Inputs:           []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "INPUT0", Datatype: "INT32", Shape: []int64{1}}},
		RawInputContents: [][]byte{{1, 0, 0, 0}},
	})
	require.NoError(t, err)
	c := newLeanClient(t, srv.GRPC, message)
	call := func() {
		if err := c.call(); err != nil {
			t.Fatal(err)
		}
	}
	for range 1000 { // the pools fill
		call()
	}
	require.Zero(t, testing.AllocsPerRun(2000, call))
	require.Contains(t, metricsOf(t, srv), `nv_inference_request_success{model="identity",version="1"} 3002`)
}
