package grpcapi

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc/mem"
)

// TestHeadWatch: how the bytes are divided into reads changes nothing.
func TestHeadWatch(t *testing.T) {
	t.Parallel()
	var sent bytes.Buffer
	sent.WriteString(http2.ClientPreface)
	f := http2.NewFramer(&sent, nil)
	require.NoError(t, f.WriteSettings())
	for id := uint32(1); id < 9; id += 2 {
		require.NoError(t, f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte{0x83}, EndHeaders: id == 1}))
		if id > 1 {
			for range minContinuations {
				require.NoError(t, f.WriteContinuation(id, false, nil))
			}
			sent.Truncate(sent.Len() - 9)
			require.NoError(t, f.WriteContinuation(id, true, bytes.Repeat([]byte{0x84}, int(id))))
		}
		require.NoError(t, f.WriteData(id, true, make([]byte, 100)))
	}
	whole := sent.Bytes()
	for size := 1; size <= len(whole); size++ {
		w := headWatch{rest: prefaceSize, max: minContinuations}
		for b := whole; len(b) > 0; b = b[min(size, len(b)):] {
			require.NoError(t, w.pass(b[:min(size, len(b))]))
		}
		require.False(t, w.open || w.last || w.timer.runs)
		require.Zero(t, w.have)
		require.NoError(t, w.pass([]byte{0, 0, 0, headersFrame, 0, 0, 0, 0, 9}))
		for range minContinuations {
			require.NoError(t, w.pass([]byte{0, 0, 0, continuationFrame, 0, 0, 0, 0, 1}))
		}
		require.ErrorIs(t, w.pass([]byte{0, 0, 0, continuationFrame, 0, 0, 0, 0, 1}), errContinuations)
		w.close()
	}
}

// TestHeadWatchAllocations: looking at frames allocates nothing.
func TestHeadWatchAllocations(t *testing.T) {
	w, b := headWatch{max: minContinuations}, benchFrames(t)
	require.Zero(t, testing.AllocsPerRun(100, func() { require.NoError(t, w.pass(b)) }))
}

// benchFrames returns the frames of a small request.
func benchFrames(tb testing.TB) []byte {
	tb.Helper()
	var sent bytes.Buffer
	f := http2.NewFramer(&sent, nil)
	require.NoError(tb, f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: make([]byte, 30), EndHeaders: true}))
	require.NoError(tb, f.WriteData(1, true, make([]byte, 200)))
	return sent.Bytes()
}

// BenchmarkHeadWatch is what a read costs more: one with a small request, and one within a large message.
func BenchmarkHeadWatch(b *testing.B) {
	var large bytes.Buffer
	f := http2.NewFramer(&large, nil)
	for range 4 {
		require.NoError(b, f.WriteData(1, true, make([]byte, 16<<10)))
	}
	for name, read := range map[string][]byte{"small": benchFrames(b), "64KB": large.Bytes()} {
		b.Run(name, func(b *testing.B) {
			w := headWatch{max: minContinuations}
			b.ReportAllocs()
			for b.Loop() {
				_ = w.pass(read)
			}
		})
	}
}

// readyStub sends the preface and then CONTINUATION frames.
type readyStub struct {
	net.Conn
	begun bool
}

func (s *readyStub) ReadOnReady(_ int, pool mem.BufferPool) (*[]byte, int, error) {
	b, text := pool.Get(100), http2.ClientPreface
	if s.begun {
		text = strings.Repeat("\x00\x00\x00\x09\x00\x00\x00\x00\x01", 10)
	}
	s.begun = true
	return b, copy(*b, text), nil
}

// TestWatchedConnIsReady: grpc-go finds ReadOnReady where the connection has it, and its reads are followed.
func TestWatchedConnIsReady(t *testing.T) {
	t.Parallel()
	end, other := net.Pipe()
	defer end.Close()
	defer other.Close()
	_, ready := watchHeads(end, end, nil, &Options{}).(readyConn)
	require.False(t, ready)
	c, ready := watchHeads(&readyStub{Conn: end}, end, nil, &Options{}).(readyConn)
	require.True(t, ready)
	pool := mem.NopBufferPool{}
	var err error
	for range 8 { // of ten frames each
		if _, _, err = c.ReadOnReady(100, pool); err != nil {
			break
		}
	}
	require.ErrorIs(t, err, errContinuations)
}
