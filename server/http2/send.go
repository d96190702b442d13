package http2

import (
	"encoding/binary"
	"strconv"
	"unicode/utf8"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"triton/pkg/h2frame"
)

const (
	// prefixLen is the size of what is in front of a message: whether it is compressed, and its length.
	prefixLen = 5
	// smallMessage bounds the messages that are copied behind each other, so that they leave in one system call.
	smallMessage = 16 << 10
	// maxQueued is how many bytes wait for the socket before messages wait, too.
	maxQueued = 64 << 10
)

func messageSize(prefix [prefixLen]byte) int { return int(binary.BigEndian.Uint32(prefix[1:])) }

// prefix returns the memory of a prefix, with some behind it.
func (s *stream) prefix() []byte {
	if s.message == nil {
		s.message = make([]byte, prefixLen, firstMessage)
	}
	return s.message[:prefixLen]
}

const (
	// firstMessage is the memory of a short message, and maxMessage what a call keeps for the next one.
	firstMessage = 256
	maxMessage   = 64 << 10
)

// send sends a message: what is in head behind the prefix, and data behind that.
func (s *stream) send(compressed byte, head []byte, data mem.BufferSlice) error {
	c := s.conn
	size := len(head) + data.Len()
	head[0] = compressed
	binary.BigEndian.PutUint32(head[1:], uint32(size-prefixLen))
	if s.web != nil {
		return s.web.send(s, head, data)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.over {
		return contextError(s.err)
	}
	if !s.headerSent {
		if err := s.appendHeader(); err != nil {
			c.flush(true)
			return err
		}
	}
	if queued, err := s.sendData(head, data); !queued {
		return err
	}
	if !s.head.rpc.unary() { // otherwise the status follows
		c.flush(true)
	}
	return nil
}

// sendData sends bytes of the response: it queues them if they are short, and otherwise writes them. The caller holds
// mu.
func (s *stream) sendData(head []byte, data mem.BufferSlice) (queued bool, err error) {
	c := s.conn
	size := len(head) + data.Len()
	total := int64(size)
	if total > smallMessage || total > min(s.window, c.window, int64(c.maxFrame)) || len(c.out)+len(c.rest) > maxQueued {
		return false, s.sendLarge(head, data)
	}
	s.window -= total
	c.window -= total
	c.life.sent = true
	c.out = append(h2frame.AppendHead(c.out, size, http2.FrameData, 0, s.id), head...)
	for _, b := range data {
		c.out = append(c.out, b.ReadOnlyData()...)
	}
	return true, nil
}

// appendHeader queues the header of a response. The caller holds mu.
func (s *stream) appendHeader() error {
	c := s.conn
	s.headerSent = true
	if s.web != nil { // which writes it with the first message
		return nil
	}
	b := c.block()
	c.ok(&b, s.head.subtype)
	if s.encoding != "" {
		b.literal("grpc-encoding", s.encoding)
	}
	b.metadata(s.header)
	if !c.queue(&b, s.id, false) {
		c.abort(s, http2.ErrCodeInternal)
		return errHeaderList
	}
	return nil
}

var errHeaderList = status.Error(codes.Internal, "transport: trying to send header list size larger than the limit set by peer")

// finish sends the status of a call whose handler has returned; nil is OK.
func (s *stream) finish(st *status.Status) {
	if s.web != nil {
		s.web.finish(s, st)
		return
	}
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.over {
		return
	}
	if !s.headerSent && len(s.header) > 0 && s.appendHeader() != nil {
		c.flush(true)
		return
	}
	b := c.block()
	if !s.headerSent {
		c.ok(&b, s.head.subtype)
	}
	c.status(&b, st, s.trailer)
	if !c.queue(&b, s.id, true) {
		c.abort(s, http2.ErrCodeInternal)
		c.flush(true)
		return
	}
	s.leave()
	if !s.inline || len(c.out) > maxHeld {
		c.flush(true)
	}
}

// leave ends a call whose last frame is queued. The caller holds mu.
func (s *stream) leave() {
	c := s.conn
	if !s.remoteEnd { // the client need not send the rest
		c.out = h2frame.AppendReset(c.out, s.id, http2.ErrCodeNo)
	}
	c.remove(s)
	s.over = true
	s.endContext()
	s.wake()
}

// detailsField has the whole status, if that is more than a code and a message.
const detailsField = "grpc-status-details-bin"

// status appends the fields of a status, and of the trailer.
func (c *conn) status(b *block, st *status.Status, trailer metadata.MD) {
	if st.Code() == codes.OK {
		c.known(b, fieldOK)
	} else {
		b.literal("grpc-status", strconv.Itoa(int(st.Code())))
	}
	if m := st.Message(); m == "" {
		c.known(b, fieldNoMessage)
	} else {
		b.literal("grpc-message", encodeMessage(m))
	}
	eachTrailer(st, trailer, b.literal)
}

// eachTrailer calls add with the details of a status, if it has some, and the fields of a trailer.
func eachTrailer(st *status.Status, trailer metadata.MD, add func(name, value string)) {
	if st != nil && len(st.Proto().GetDetails()) > 0 {
		if details, err := proto.Marshal(st.Proto()); err == nil {
			add(detailsField, encodeBinary(details))
			trailer = trailer.Copy()
			delete(trailer, detailsField)
		}
	}
	eachField(trailer, add)
}

// answerEarly answers a call that does not begin.
func (c *conn) answerEarly(id uint32, end bool, h *head) {
	b := c.block()
	if h.http == 200 {
		c.ok(&b, h.subtype)
	} else {
		b.literal(":status", strconv.Itoa(h.http))
		c.contentType(&b, h.subtype)
	}
	c.status(&b, h.refused, nil)
	if !c.queue(&b, id, true) {
		c.refuse(id, end, http2.ErrCodeInternal)
		return
	}
	if !end {
		c.out = h2frame.AppendReset(c.out, id, http2.ErrCodeNo)
	}
	c.over(id, end)
}

// encodeMessage returns the percent-encoding of grpc-message.
func encodeMessage(m string) string {
	plain := func(b byte) bool { return ' ' <= b && b <= '~' && b != '%' }
	clean := true
	for i := range len(m) {
		clean = clean && plain(m[i])
	}
	if clean {
		return m
	}
	const hex = "0123456789ABCDEF"
	var out []byte
	for _, r := range m { // what is not UTF-8 becomes U+FFFD
		for _, b := range utf8.AppendRune(nil, r) {
			if plain(b) {
				out = append(out, b)
			} else {
				out = append(out, '%', hex[b>>4], hex[b&15])
			}
		}
	}
	return string(out)
}
