package http2

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"triton/pkg/h2frame"
)

// sums serves /s/sum, which reports the length and the checksum of each message, and closes it with the test.
func sums(t *testing.T, lis net.Listener, got chan<- [2]uint32) {
	t.Helper()
	srv := NewServer(Options{MaxReceive: 8 << 20, ConnWindow: 64 << 20, StreamWindow: 8 << 20, Codec: rawCodec{}})
	srv.RegisterService(&grpc.ServiceDesc{ServiceName: "s", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{{
		StreamName: "sum", ClientStreams: true,
		Handler: func(_ any, s grpc.ServerStream) error {
			for {
				var m []byte
				if err := s.RecvMsg(&m); err != nil {
					return err
				}
				got <- [2]uint32{uint32(len(m)), crc32.ChecksumIEEE(m)}
			}
		},
	}}}, nil)
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(lis) })
	t.Cleanup(func() { srv.Stop(); wg.Wait() })
}

// rawCodec has messages of bytes.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil //nolint:forcetypeassert // a test
}

func (rawCodec) Unmarshal(b mem.BufferSlice, v any) error {
	*v.(*[]byte) = b.Materialize() //nolint:forcetypeassert // a test
	return nil
}

// dataFrames returns a message in frames of random lengths, some with padding.
func dataFrames(r *rand.Rand, id uint32, message []byte, end bool) [][]byte {
	body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	var frames [][]byte
	for len(body) > 0 {
		n := min(len(body), 1+r.IntN(1<<(4+r.IntN(16))))
		flags, pad := http2.Flags(0), []byte(nil)
		if r.IntN(8) == 0 {
			flags, pad = http2.FlagDataPadded, make([]byte, r.IntN(256))
		}
		if n == len(body) && end {
			flags |= http2.FlagDataEndStream
		}
		size := n
		if flags&http2.FlagDataPadded != 0 {
			size += 1 + len(pad)
		}
		f := h2frame.AppendHead(nil, size, http2.FrameData, flags, id)
		if flags&http2.FlagDataPadded != 0 {
			f = append(f, byte(len(pad)))
		}
		frames = append(frames, append(append(f, body[:n]...), pad...))
		body = body[n:]
	}
	return frames
}

// TestMessagesInPieces: messages arrive whole however they are divided into frames, and frames into packets, between
// those of other calls and of calls that are canceled in the middle.
func TestMessagesInPieces(t *testing.T) {
	t.Parallel()
	for name, direct := range map[string]bool{"TCP": true, "a pipe": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := make(chan [2]uint32, 1000)
			var client net.Conn
			if direct {
				lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
				require.NoError(t, err)
				sums(t, lis, got)
				client, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", lis.Addr().String())
				require.NoError(t, err)
			} else {
				lis := make(pipes, 1)
				sums(t, lis, got)
				var server net.Conn
				client, server = net.Pipe()
				lis <- server
			}
			defer client.Close()
			go func() {
				for b := make([]byte, 4096); ; {
					if _, err := client.Read(b); err != nil {
						return
					}
				}
			}()
			pieces, want := piecesOfCalls()
			for _, piece := range pieces {
				_, err := client.Write(piece)
				require.NoError(t, err)
			}
			for len(want) > 0 {
				m := <-got
				require.Positive(t, want[m], m)
				if want[m]--; want[m] == 0 {
					delete(want, m)
				}
			}
		})
	}
}

// piecesOfCalls returns what a client writes, and what the server is to receive of it, each as often as that.
func piecesOfCalls() (pieces [][]byte, want map[[2]uint32]int) {
	r := rand.New(rand.NewPCG(1, 2))
	out := append([]byte(http2.ClientPreface), h2frame.AppendHead(nil, 0, http2.FrameSettings, 0, 0)...)
	want = map[[2]uint32]int{}
	id := uint32(1)
	for range 8 {
		queues := make([][][]byte, 1+r.IntN(4))
		for i := range queues {
			message := make([]byte, r.IntN(2<<20))
			for k := range message {
				message[k] = byte(r.Uint32())
			}
			frames := dataFrames(r, id, message, true)
			if r.IntN(4) == 0 { // canceled in the middle
				frames = append(frames[:len(frames)/2], h2frame.AppendReset(nil, id, http2.ErrCodeCancel))
			} else {
				want[[2]uint32{uint32(len(message)), crc32.ChecksumIEEE(message)}]++
			}
			out, queues[i] = append(out, headersOf(id, "/s/sum")...), frames
			id += 2
		}
		for len(queues) > 0 {
			i := r.IntN(len(queues))
			out = append(out, queues[i][0]...)
			if queues[i] = queues[i][1:]; len(queues[i]) == 0 {
				queues = append(queues[:i], queues[i+1:]...)
			}
		}
	}
	for len(out) > 0 {
		n := min(len(out), 1+r.IntN(1<<(8+r.IntN(12))))
		pieces = append(pieces, out[:n])
		out = out[n:]
	}
	return pieces, want
}

// headersOf returns the header list of a call.
func headersOf(id uint32, path string) []byte {
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", path}, {":authority", "a"}, {"content-type", contentType}, {"te", "trailers"}} {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: true}) // leaves the table as it is
	}
	return h2frame.AppendBlock(nil, block.Bytes(), id, false, h2frame.SmallestMax)
}
