package http2

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"triton/server/http1"
)

// webCodec is a codec whose messages are bytes.
type webCodec struct{}

func (webCodec) Name() string { return "proto" }

func (webCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (webCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// newEcho returns a handler of gRPC-Web whose methods return each message.
func newEcho() http.Handler {
	srv := NewServer(Options{Codec: webCodec{}, MaxReceive: 1 << 16})
	echo := func(_ any, s grpc.ServerStream) error {
		for {
			var m []byte
			if err := s.RecvMsg(&m); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if err := s.SendMsg(&m); err != nil {
				return err
			}
		}
	}
	srv.RegisterService(&grpc.ServiceDesc{
		ServiceName: "s", HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: "Echo", Handler: echo, ServerStreams: true, ClientStreams: true}},
	}, nil)
	next := http1.HandlerFunc(func(x *http1.Exchange) { x.Status = http.StatusNotFound; x.Send() })
	return http1.NewHTTPHandler(srv.Web(next, nil), http1.Options{})
}

// ask sends a body and returns the response, decoded if it is base64, and split.
func ask(t testing.TB, h http.Handler, kind string, body []byte) (messages [][]byte, trailer string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/s/Echo", bytes.NewReader(body))
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code)
	all := w.Body.Bytes()
	if kind == webText {
		plain, err := io.ReadAll(&textReader{from: bytes.NewReader(all)})
		require.NoError(t, err)
		all = plain
	}
	for {
		require.GreaterOrEqual(t, len(all), prefixLen)
		n := int(binary.BigEndian.Uint32(all[1:]))
		require.GreaterOrEqual(t, len(all), prefixLen+n)
		frame := all[prefixLen : prefixLen+n]
		if all[0] == trailerFlag {
			require.Len(t, all, prefixLen+n, "something is behind the trailer")
			return messages, string(frame)
		}
		messages = append(messages, frame)
		all = all[prefixLen+n:]
	}
}

func frames(messages ...string) (b []byte) {
	for _, m := range messages {
		b = append(binary.BigEndian.AppendUint32(append(b, 0), uint32(len(m))), m...)
	}
	return b
}

func TestWeb(t *testing.T) {
	t.Parallel()
	h := newEcho()
	long := string(make([]byte, 1<<16))
	for _, c := range []struct {
		kind     string
		body     []byte
		messages []string
		trailer  string
	}{
		{webType, frames("a", "", "bc"), []string{"a", "", "bc"}, "grpc-status: 0\r\n"},
		{webType, frames(long), []string{long}, "grpc-status: 0\r\n"},
		{webType, nil, nil, "grpc-status: 0\r\n"},
		{webType, frames("a")[:5], nil, "grpc-status: 13\r\ngrpc-message: unexpected EOF\r\n"},
		{webType, []byte{0x80, 0, 0, 0, 0}, nil, "grpc-status: 13\r\ngrpc-message: grpc: received unexpected payload format 128\r\n"},
		{webType, []byte{0, 0, 1, 0, 1}, nil, "grpc-status: 8\r\ngrpc-message: grpc: received message larger than max (65537 vs. 65536)\r\n"},
		{webText, []byte("AAAAAAFhAAAAAAFi"), []string{"a", "b"}, "grpc-status: 0\r\n"},
		{webText, []byte("AAAAAAA=" + "AAAAAAFi"), []string{"", "b"}, "grpc-status: 0\r\n"},
		{webText, []byte("AAAAAAF"), nil, "grpc-status: 13\r\ngrpc-message: reading the body: " + errHalfText.Error() + "\r\n"},
		{webText, []byte("????"), nil, "grpc-status: 13\r\ngrpc-message: reading the body: the body is not base64\r\n"},
	} {
		messages, trailer := ask(t, h, c.kind, c.body)
		require.Len(t, messages, len(c.messages), "%q: %s", c.body, trailer)
		for i, m := range c.messages {
			require.Equal(t, m, string(messages[i]))
		}
		require.Equal(t, c.trailer, trailer, "%q", c.body)
	}
	for kind, want := range map[string]int{"application/json": http.StatusNotFound, "application/grpc-websocket": http.StatusUnsupportedMediaType} {
		r := httptest.NewRequest(http.MethodPost, "/s/Echo", nil)
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, want, w.Code, kind)
	}
}

// FuzzWeb: whatever the body is, the response has whole messages and one trailer, and a body of whole messages comes
// back.
func FuzzWeb(f *testing.F) {
	f.Add(frames("a", "bc"), false)
	f.Add([]byte("AAAAAAA=AAAAAAFi"), true)
	f.Add([]byte{0x80, 0, 0, 0, 0}, false)
	f.Add([]byte{1, 0, 0, 0, 1, 0}, false)
	h := newEcho()
	f.Fuzz(func(t *testing.T, body []byte, text bool) {
		kind := webType
		if text {
			kind = webText
		}
		ask(t, h, kind, body)
		if len(body) < 1<<15 {
			sent := frames(string(body), "", string(body))
			if text {
				sent = base64.StdEncoding.AppendEncode(nil, sent)
			}
			messages, trailer := ask(t, h, kind, sent)
			require.Equal(t, [][]byte{body, {}, body}, messages)
			require.Equal(t, "grpc-status: 0\r\n", trailer)
		}
	})
}

// FuzzWebText: pieces of any size are decoded as the whole is, four characters after the other.
func FuzzWebText(f *testing.F) {
	f.Add([]byte("AAAAAAA=AAAAAAFi"))
	f.Add([]byte("AA=="))
	f.Add([]byte("A"))
	f.Fuzz(func(t *testing.T, text []byte) {
		want, bad := []byte(nil), len(text)%4 != 0
		for i := 0; i+4 <= len(text); i += 4 {
			var err error
			if want, err = base64.StdEncoding.AppendDecode(want, text[i:i+4]); err != nil {
				bad = true
				break
			}
		}
		for _, from := range []io.Reader{bytes.NewReader(text), iotest.OneByteReader(bytes.NewReader(text)), iotest.DataErrReader(bytes.NewReader(text))} {
			got, err := io.ReadAll(&textReader{from: from})
			require.Equal(t, bad, err != nil, "%v", err)
			if !bad {
				require.True(t, bytes.Equal(want, got))
			}
		}
	})
}
