package h2

import (
	"encoding/binary"
	"math"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/h2frame"
)

// beginData handles the header of a DATA frame, whose whole payload counts for the windows.
func (c *Conn) beginData(h h2frame.Head) (more bool, err error) {
	in := &c.in
	if c.idle(h.ID) {
		return false, violation(http2.ErrCodeProtocol, "DATA of stream %d, which has not begun", h.ID)
	}
	size, pad, skip := h.Len, 0, h2frame.HeadLen
	if h.Flags&http2.FlagDataPadded != 0 {
		if size == 0 {
			return false, violation(http2.ErrCodeFrameSize, "DATA has no room for its padding")
		}
		if in.w-in.r < h2frame.HeadLen+1 {
			return false, nil
		}
		pad = int(in.buf[in.r+h2frame.HeadLen])
		size, skip = size-1, skip+1
		if pad > size {
			return false, violation(http2.ErrCodeProtocol, "DATA is shorter than its padding")
		}
	}
	in.r += skip
	in.data = data{id: h.ID, left: size - pad, pad: pad, end: h.Flags&http2.FlagDataEndStream != 0, busy: true}
	if c.receives -= int64(h.Len); c.receives < 0 {
		return false, violation(http2.ErrCodeFlowControl, "DATA exceeds the window of the connection")
	}
	c.acknowledge(h.Len)
	if call := c.calls[h.ID]; call != nil {
		if call.receives -= int64(h.Len); call.receives < 0 {
			return false, violation(http2.ErrCodeFlowControl, "DATA exceeds the window of stream %d", h.ID)
		}
		call.unacked += h.Len
	}
	return true, nil
}

// acknowledge returns the bytes to the window of the connection, many at a time.
func (c *Conn) acknowledge(n int) {
	if c.unacked += n; c.unacked >= connWindow/4 {
		c.out = h2frame.AppendWindowUpdate(c.out, 0, c.unacked)
		c.receives += int64(c.unacked)
		c.unacked = 0
	}
}

// acknowledgeCall returns bytes to the window of a call, unless whole messages wait for the lane: a server that
// sends more than it takes must wait.
func (c *Conn) acknowledgeCall(call *Call) {
	if call.unacked >= streamWindow/4 && len(call.inbox.Messages) == 0 {
		c.out = h2frame.AppendWindowUpdate(c.out, call.id, call.unacked)
		call.receives += int64(call.unacked)
		call.unacked = 0
	}
}

// readData handles what is there of the payload of a DATA frame.
func (c *Conn) readData() (more bool, err error) {
	in := &c.in
	d := &in.data
	call := c.calls[d.id] // nil if it has ended
	if n := min(d.left, in.w-in.r); n > 0 {
		if call != nil {
			c.receive(call, in.buf[in.r:in.r+n])
		}
		in.r += n
		d.left -= n
	}
	if d.left > 0 {
		return false, nil
	}
	n := min(d.pad, in.w-in.r)
	in.r += n
	if d.pad -= n; d.pad > 0 {
		return false, nil
	}
	d.busy = false
	if call = c.calls[d.id]; call != nil && d.end {
		err := internalError("server closed the stream without sending trailers")
		if call.foreign != nil {
			err = call.foreignError()
		}
		c.refuse(call, err)
	}
	return true, nil
}

// receive adds bytes to the messages of a call.
func (c *Conn) receive(call *Call, b []byte) {
	switch {
	case call.foreign != nil:
		call.inbox.Data = append(call.inbox.Data, b[:min(len(b), maxForeignBody-len(call.inbox.Data))]...)
		if len(call.inbox.Data) == maxForeignBody {
			c.refuse(call, call.foreignError())
		}
		return
	case !call.begun:
		c.refuse(call, internalError("the server sent DATA before HEADERS"))
		return
	}
	for len(b) > 0 {
		if call.prefixed < prefixLen {
			n := copy(call.prefix[call.prefixed:], b)
			b = b[n:]
			if call.prefixed += n; call.prefixed < prefixLen {
				break
			}
			if err := call.beginMessage(); err != nil {
				c.abandon(call, http2.ErrCodeCancel, err)
				return
			}
		}
		n := min(call.missing, len(b))
		if call.store {
			call.inbox.Data = append(call.inbox.Data, b[:n]...)
		}
		b = b[n:]
		if call.missing -= n; call.missing == 0 {
			call.inbox.Messages = append(call.inbox.Messages, Message{End: len(call.inbox.Data), Time: c.now(), Compressed: call.prefix[0] == 1})
			call.prefixed = 0
			if call.notify {
				c.awaited++
				call.wake()
			}
		}
	}
	c.acknowledgeCall(call)
}

// beginMessage reads the prefix of a message.
func (c *Call) beginMessage() error {
	length := binary.BigEndian.Uint32(c.prefix[1:])
	switch {
	case c.prefix[0] > 1:
		return internalError("grpc: received unexpected payload format %d", c.prefix[0])
	case c.prefix[0] == 1 && (c.encoding == "" || c.encoding == "identity"):
		return internalError("grpc: compressed flag set with identity or empty encoding")
	case !c.notify && len(c.inbox.Messages) > 0:
		return internalError("cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message")
	case length > math.MaxInt32:
		return grpcstatus.Errorf(codes.ResourceExhausted, "grpc: received message larger than max (%d vs. %d)", length, math.MaxInt32)
	}
	c.missing = int(length)
	c.store = !c.discard || c.prefix[0] == 1
	return nil
}
