package grpctest_test

import (
	"encoding/binary"
	"slices"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// headers are the headers of a call, in order.
type headers [][2]string

func callHeaders(path string) headers {
	return headers{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", path},
		{":authority", "oracle"},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	}
}

// with returns the headers with the value of a name changed, or added.
func (h headers) with(name, value string) headers {
	h = slices.Clone(h)
	for i := range h {
		if h[i][0] == name {
			h[i][1] = value
			return h
		}
	}
	return append(h, [2]string{name, value})
}

// without returns the headers but one.
func (h headers) without(name string) headers {
	return slices.DeleteFunc(slices.Clone(h), func(f [2]string) bool { return f[0] == name })
}

// method returns a method of the oracle's service.
func (s *script) method() string {
	return of(&s.choices, oracleUnary, oracleUnary, oracleUnary, oracleStream, oracleStream, oracleStream, oracleHold, oracleFail)
}

// metadata adds what clients may add to the headers of a call.
func (s *script) metadata(h headers) headers {
	switch s.below(12) {
	case 0:
		h = append(h, [2]string{"a", "1"}, [2]string{"a", "2"})
	case 1:
		h = append(h, [2]string{"raw-bin", of(&s.choices, "AAEC", "AAE=", "AAE", "", "AA==,AQ==")})
	case 2: // that do not pass: whether a reset or the status comes first is left open
		h = append(h, [2]string{"grpc-timeout", of(&s.choices, "1H", "99999S", "99999999m", "00000001M")})
	case 3:
		h = append(h, [2]string{"user-agent", "oracle/1"}, [2]string{"grpc-accept-encoding", "gzip,identity"})
	case 4:
		h = append(h, [2]string{"grpc-encoding", "identity"})
	case 5:
		h = h.with("content-type", of(&s.choices, "application/grpc+proto", "application/grpc;charset=utf-8", "application/grpc+json"))
	case 6:
		h = append(h, [2]string{"long", strings.Repeat("x", 3000)})
	case 7:
		h = append(h, [2]string{"grpc-trace-bin", "AAEC"}, [2]string{"cookie", "a=b"}, [2]string{"cookie", "c=d"})
	}
	return h
}

// begin opens a stream.
func (s *script) begin(path string) uint32 {
	id := s.next
	s.next += 2
	s.held[id] = path == oracleHold
	s.headers(id, s.metadata(callHeaders(path)), false)
	s.open = append(s.open, id)
	return id
}

// call makes a whole call, in the way of a client.
func (s *script) call() {
	id := s.begin(s.method())
	from := len(s.frames) - 1
	for range of(&s.choices, 1, 1, 1, 2, 0) {
		s.data(id, s.message(), false)
	}
	if s.oneIn(2) {
		s.data(id, nil, true)
	} else if f := &s.frames[len(s.frames)-1]; f.kind == http2.FrameData {
		f.flags |= http2.FlagDataEndStream
		s.ended(id)
	}
	if s.oneIn(2) {
		for i := from; i < len(s.frames)-1; i++ {
			s.frames[i].glued = true
		}
	}
}

func (s *script) ended(id uint32) {
	s.open = slices.DeleteFunc(s.open, func(o uint32) bool { return o == id })
}

// headers adds a HEADERS frame, and CONTINUATION frames when it is split.
func (s *script) headers(id uint32, h headers, end bool) {
	s.block.Reset()
	if s.oneIn(8) {
		s.encoder.SetMaxDynamicTableSize(uint32(of(&s.choices, 0, 64, 4096)))
	}
	sensitive := s.oneIn(2)
	for _, f := range h {
		_ = s.encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: sensitive}) // of a buffer
	}
	s.fragments(id, slices.Clone(s.block.Bytes()), end)
}

// fragments adds the frames of a header block.
func (s *script) fragments(id uint32, block []byte, end bool) {
	var parts [][]byte
	for range of(&s.choices, 0, 0, 0, 1, 3) {
		n := s.below(min(len(block), 255) + 1)
		parts, block = append(parts, block[:n]), block[n:]
	}
	parts = append(parts, block)
	var flags http2.Flags
	if end {
		flags = http2.FlagHeadersEndStream
	}
	first := parts[0]
	if s.oneIn(6) {
		flags |= http2.FlagHeadersPriority
		first = append(append(s.number(of(&s.choices, 0, 1, id)), 15), first...)
	}
	if s.oneIn(6) {
		flags |= http2.FlagHeadersPadded
		first = pad(first, s.below(40))
	}
	for i, p := range parts {
		last := http2.Flags(0)
		if i == len(parts)-1 {
			last = http2.FlagHeadersEndHeaders // the flag of CONTINUATION has the same bit
		}
		if i == 0 {
			s.add(http2.FrameHeaders, flags|last, id, first)
		} else {
			s.add(http2.FrameContinuation, last, id, p)
		}
	}
}

func pad(b []byte, n int) []byte {
	return append(append([]byte{byte(n)}, b...), make([]byte, n)...)
}

// data adds the DATA frames of bytes.
func (s *script) data(id uint32, b []byte, end bool) {
	for range of(&s.choices, 0, 0, 0, 1, 2) {
		n := s.below(min(len(b), 255) + 1)
		s.dataFrame(id, b[:n], false)
		b = b[n:]
	}
	for ; len(b) > 16384; b = b[16000:] {
		s.dataFrame(id, b[:16000], false)
	}
	s.dataFrame(id, b, end)
}

func (s *script) dataFrame(id uint32, b []byte, end bool) {
	var flags http2.Flags
	if end {
		flags = http2.FlagDataEndStream
		s.ended(id)
	}
	if s.oneIn(8) && len(b) < 16000 {
		flags |= http2.FlagDataPadded
		b = pad(b, s.below(256))
	}
	s.add(http2.FrameData, flags, id, b)
}

// message returns a message in the form of the wire. Its first byte says how often the answer repeats it.
func (s *script) message() []byte {
	v := make([]byte, of(&s.choices, 1, 0, 100, 3000, 20_000))
	if len(v) > 0 {
		v[0] = byte(of(&s.choices, 0, 1, 3, 10))
		for i := 1; i < len(v); i++ {
			v[i] = byte(i)
		}
	}
	b, err := proto.Marshal(wrapperspb.Bytes(v))
	if err != nil {
		panic(err) // of a test
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b))), b...)
}

// badHeaders begins a call with a mistake in the headers.
func (s *script) badHeaders() {
	s.bad[s.next] = true
	h := callHeaders(oracleUnary)
	switch s.below(24) {
	case 0:
		h = h.without(":authority")
	case 1:
		h = h.without("content-type")
	case 2:
		h = h.without("te")
	case 3:
		h = h.with(":method", of(&s.choices, "GET", "PUT", "post"))
	case 4:
		h = h.with("content-type", of(&s.choices, "application/json", "", "application/grpcx", "APPLICATION/GRPC"))
	case 5:
		h = h.with(":path", of(&s.choices, "/", "unary", "/oracle.Oracle", "/oracle.Oracle/None", "/none.None/None", "//", "/a/b/c", "*"))
	case 6:
		h = append(h, [2]string{":path", oracleUnary})
	case 7:
		h = append(h, [2]string{of(&s.choices, ":status", ":none"), "200"})
	case 8:
		h = append(headers{{"a", "b"}}, h...)
	case 9:
		h = append(h, [2]string{of(&s.choices, "Upper", "a b", "a\x00", "", "é"), "x"})
	case 10:
		h = append(h, [2]string{"a", of(&s.choices, "\x00", "a\nb", "\xff\xfe", " a ")})
	case 11:
		h = append(h, [2]string{of(&s.choices, "connection", "keep-alive", "transfer-encoding", "upgrade", "proxy-connection"), "close"})
	case 12:
		h = append(h, [2]string{"grpc-timeout", of(&s.choices, "", "1", "S", "-1S", "1x", "999999999S", " 1S")})
	case 13:
		h = append(h, [2]string{"grpc-encoding", of(&s.choices, "none", "snappy", "")})
	case 14:
		h = append(h, [2]string{"raw-bin", of(&s.choices, "!", "A", "AA=", "A A=")})
	case 15:
		h = append(h, [2]string{"long", strings.Repeat("x", of(&s.choices, 7000, 9000, 20_000))})
	case 16:
		h = append(h, [2]string{"host", of(&s.choices, "oracle", "other")})
	case 17:
		h = append(h, [2]string{"content-length", of(&s.choices, "5", "x", "0")})
	case 18:
		h = append(h, [2]string{of(&s.choices, "grpc-status", "grpc-message", "grpc-message-type", "grpc-status-details-bin"), "1"})
	case 19:
		h = append(h, [2]string{"content-type", "application/grpc"})
	case 20:
		h = h.with(":scheme", of(&s.choices, "https", "ftp", ""))
	case 21: // not HPACK
		s.fragments(s.next, []byte{0x80, 0xff, 0xff, 0xff, 0xff, 0x0f}[:1+s.below(6)], true)
		s.next += 2
		return
	case 22: // a stream that is not new, or the server's
		s.headers(of(&s.choices, s.anyStream(), 2, s.next-2), h, s.oneIn(2))
		return
	case 23: // headers that another frame interrupts
		s.headers(s.next, h, false)
		s.frames[len(s.frames)-1].flags &^= http2.FlagHeadersEndHeaders
		s.next += 2
		return
	}
	id := s.next
	s.next += 2
	end := s.oneIn(3)
	s.headers(id, h, end)
	if !end {
		s.data(id, s.message(), true)
	}
}

// badMessage makes a call with a mistake in its messages.
func (s *script) badMessage() {
	id := s.begin(s.method())
	m := s.message()
	switch s.below(9) {
	case 0:
		m[0] = byte(of(&s.choices, 1, 2, 255)) // compressed, and unknown flags
	case 1:
		m = m[:min(len(m)-1, s.below(6))]
	case 2:
		m = append(m, 1)
	case 3:
		binary.BigEndian.PutUint32(m[1:], of[uint32](&s.choices, 1<<31, 5<<20, 1<<32-1))
	case 4:
		m = []byte{0, 0, 0, 0, 3, 0x0a, 5, 1} // not protobuf
	case 5: // trailers of the client
		s.data(id, m, false)
		s.headers(id, headers{{"x", "y"}}, s.oneIn(2))
		return
	case 6: // after the end
		s.data(id, m, true)
		s.data(id, m, s.oneIn(2))
		return
	case 7:
		s.data(id, append(m, s.message()...), true)
		return
	case 8: // padding longer than the frame
		s.add(http2.FrameData, http2.FlagDataPadded, id, []byte{200, 1, 2})
		return
	}
	s.data(id, m, true)
}
