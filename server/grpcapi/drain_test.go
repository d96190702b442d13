package grpcapi_test

import (
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve/rpc"
	"triton/server"
	"triton/server/servertest"
)

var drained = servertest.Model("m", servertest.Identity("INT32", "4", 8))

func smallRequest() *inferencepb.ModelInferRequest {
	return &inferencepb.ModelInferRequest{
		ModelName:        "m",
		Inputs:           []*inferencepb.ModelInferRequest_InferInputTensor{{Name: "INPUT0", Datatype: "INT32", Shape: []int64{1, 4}}},
		RawInputContents: [][]byte{make([]byte, 16)},
	}
}

// wireMessage returns a message in the form of a stream.
func wireMessage(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	require.NoError(t, err)
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b))), b...)
}

// goAway reads until the server sends GOAWAY.
func (c *slowClient) goAway() (last uint32) {
	c.t.Helper()
	for {
		f, err := c.framer.ReadFrame()
		require.NoError(c.t, err)
		if g, ok := f.(*http2.GoAwayFrame); ok {
			require.Equal(c.t, http2.ErrCodeNo, g.ErrCode)
			return g.LastStreamID
		}
	}
}

// TestDrainAnswersOpenConnections: a call that arrives over an open connection during the drain is
// answered, because its client cannot know of the drain yet. The connection ends when the client
// closes it, and without a reset.
func TestDrainAnswersOpenConnections(t *testing.T) {
	t.Parallel()
	s := startServer(t, drained)
	c := newSlowClient(t, s.GRPC)
	s.Interrupt()
	require.EqualValues(t, math.MaxInt32, c.goAway())
	for id := uint32(1); id <= 5; id += 2 {
		c.open(id, rpc.ModelInfer)
		require.NoError(t, c.framer.WriteData(id, true, wireMessage(t, smallRequest())))
		require.Equal(t, map[uint32]end{id: {}}, c.await(1))
	}
	require.NoError(t, c.framer.WritePing(true, [8]byte{1, 6, 1, 8, 0, 3, 3, 9})) // gRPC's, after its GOAWAY
	require.EqualValues(t, 5, c.goAway())
	c.open(7, rpc.ModelInfer) // was on its way: read, and not answered, as the client knows
	for err := error(nil); ; _, err = c.framer.ReadFrame() {
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	require.NoError(t, s.Wait())
}

// TestDrainsUnderLoad: over several ends of a server no call of a busy client
// fails but those that need a new connection.
func TestDrainsUnderLoad(t *testing.T) {
	t.Parallel()
	for range 5 {
		s := startServer(t, drained)
		var served atomic.Int64
		var clients sync.WaitGroup
		failures := make(chan error, 64)
		for range 4 {
			client := inferencepb.NewGRPCInferenceServiceClient(dialTCP(t, s.GRPC))
			_, err := client.ModelInfer(t.Context(), smallRequest()) // the server has accepted its connection
			require.NoError(t, err)
			for range 4 {
				clients.Go(func() {
					for {
						_, err := client.ModelInfer(t.Context(), smallRequest())
						if err != nil {
							failures <- err
							return
						}
						served.Add(1)
					}
				})
			}
		}
		require.Eventually(t, func() bool { return served.Load() > 200 }, time.Minute, time.Millisecond)
		s.Interrupt()
		clients.Wait()
		close(failures)
		for err := range failures {
			require.Equal(t, codes.Unavailable, grpcstatus.Code(err))
			require.True(t, strings.Contains(err.Error(), "connect: connection refused"), "not on a new connection: %v", err)
		}
		require.NoError(t, s.Wait())
	}
}

// TestDrainLeavesSilentConnections: a client that connects and sends nothing does not delay the
// shutdown, and its connection is not reset.
func TestDrainLeavesSilentConnections(t *testing.T) {
	t.Parallel()
	s := startServer(t, drained, servertest.With(func(o *server.Options) { o.ExitTimeout = 20 * time.Second }))
	silent, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.GRPC)
	require.NoError(t, err)
	defer silent.Close()
	half, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.GRPC)
	require.NoError(t, err)
	defer half.Close()
	_, err = half.Write([]byte(http2.ClientPreface)[:10])
	require.NoError(t, err)
	client := inferencepb.NewGRPCInferenceServiceClient(dialTCP(t, s.GRPC))
	_, err = client.ModelInfer(t.Context(), smallRequest()) // the others have been accepted, as they came before
	require.NoError(t, err)
	s.Interrupt()
	for _, c := range []net.Conn{silent, half} {
		require.NoError(t, c.SetDeadline(time.Now().Add(60*time.Second)))
		_, err = io.Copy(io.Discard, c)
		require.NoError(t, err, "reset")
	}
	require.NoError(t, s.Wait())
}
