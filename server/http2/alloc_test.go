package http2

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"triton/pkg/h2frame"
)

// lengths is a codec of messages that are only as long as a number says.
type lengths struct{ bytesCodec }

func (lengths) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*int) = data.Len()
	return nil
}

func (lengths) AppendMessage(b []byte, v any) ([]byte, bool) {
	for range *v.(*int) {
		b = append(b, 1)
	}
	return b, true
}

// TestCallsAllocateNothing: a short unary call takes no memory of its own, from the socket to the socket. The client of
// the test takes none either.
func TestCallsAllocateNothing(t *testing.T) { // not parallel: it counts the allocations of the process
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	length := 0
	echo := func(_ any, s grpc.ServerStream) error {
		if err := s.RecvMsg(&length); err != nil {
			return err
		}
		return s.SendMsg(&length)
	}
	overTCP(t, Options{Codec: lengths{}}, handlers{"m": echo}, func(t *testing.T, _ *Server, p *wirePeer) {
		p.send(update(0, 1<<30))
		// The first list makes entries of the table. The others refer to them, as those of clients.
		first, again := tableOf([][2]string{{":path", "/s/m"}, {":authority", "a"}, {"content-type", contentType}, {"te", "trailers"}})
		id := uint32(1)
		call := func(block []byte) []byte {
			b := h2frame.AppendBlock(nil, block, id, false, h2frame.SmallestMax)
			b = append(h2frame.AppendHead(b, prefixLen+100, http2.FrameData, http2.FlagDataEndStream, id), 0, 0, 0, 0, 100)
			return append(b, make([]byte, 100)...)
		}
		frames := call(again)
		heads := [2]int{5, h2frame.HeadLen + len(again) + 5} // where the number of the call is
		in := make([]byte, 4096)
		roundTrip := func(b []byte) {
			_, err := p.conn.Write(b)
			if err != nil {
				panic(err)
			}
			for ended, n := false, 0; !ended; {
				k, err := p.conn.Read(in[n:])
				if err != nil {
					panic(err)
				}
				n += k
				for rest := in[:n]; ; {
					h, ok := h2frame.ReadHead(rest)
					if !ok || len(rest) < h2frame.HeadLen+h.Len {
						n = copy(in, rest)
						break
					}
					rest = rest[h2frame.HeadLen+h.Len:]
					ended = ended || h.Kind == http2.FrameHeaders && h.Has(http2.FlagHeadersEndStream) && h.ID == id
				}
			}
			id += 2
		}
		roundTrip(call(first))
		next := func() {
			for _, at := range heads {
				binary.BigEndian.PutUint32(frames[at:], id)
			}
			roundTrip(frames)
		}
		for range 1000 { // the pools fill
			next()
		}
		require.Zero(t, testing.AllocsPerRun(1000, next))
		require.Equal(t, 100, length)
	})
}

// tableOf returns a header list whose fields become entries of the table, and one that refers to them.
func tableOf(fields [][2]string) (first, again []byte) {
	first, again = []byte{0x83, 0x86}, []byte{0x83, 0x86} // POST, http
	for i, f := range fields {
		first = h2frame.AppendField(first, h2frame.Incremental, f[0], f[1])
		again = h2frame.AppendInt(again, h2frame.Indexed, 7, h2frame.StaticEntries+len(fields)-i)
	}
	return first, again
}
