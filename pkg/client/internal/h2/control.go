package h2

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/h2frame"
)

func (c *Conn) settings(h h2frame.Head, b []byte) error {
	switch {
	case h.ID != 0:
		return violation(http2.ErrCodeProtocol, "SETTINGS of stream %d", h.ID)
	case h.Flags&http2.FlagSettingsAck != 0 && h.Len != 0 || h.Len%h2frame.SettingLen != 0:
		return violation(http2.ErrCodeFrameSize, "SETTINGS of %d bytes", h.Len)
	case h.Flags&http2.FlagSettingsAck != 0:
		return nil
	}
	for ; len(b) > 0; b = b[h2frame.SettingLen:] {
		if err := c.set(http2.SettingID(binary.BigEndian.Uint16(b)), binary.BigEndian.Uint32(b[2:])); err != nil {
			return err
		}
	}
	c.out = h2frame.AppendHead(c.out, 0, http2.FrameSettings, http2.FlagSettingsAck, 0)
	c.wakeWaiting()
	c.wakeBlocked()
	return nil
}

func (c *Conn) set(id http2.SettingID, v uint32) error {
	switch id {
	case http2.SettingHeaderTableSize:
		if v < h2frame.InitialTable && !c.noTable {
			// The peer must learn that the table shrinks. An empty one suits every size.
			c.noTable, c.dropTable, c.indexed = true, true, nil
		}
	case http2.SettingMaxConcurrentStreams:
		c.maxStreams = v
	case http2.SettingMaxHeaderListSize:
		c.maxList = uint64(v)
	case http2.SettingMaxFrameSize:
		if v < h2frame.SmallestMax || v > h2frame.LargestMax {
			return violation(http2.ErrCodeProtocol, "MAX_FRAME_SIZE is %d", v)
		}
		c.maxFrame = int(v)
	case http2.SettingInitialWindowSize:
		if v > h2frame.MaxWindow {
			return violation(http2.ErrCodeFlowControl, "INITIAL_WINDOW_SIZE is %d", v)
		}
		for _, call := range c.calls {
			if call.window += int64(v) - c.initial; call.window > h2frame.MaxWindow {
				return violation(http2.ErrCodeFlowControl, "INITIAL_WINDOW_SIZE %d makes a window of %d", v, call.window)
			}
		}
		c.initial = int64(v)
	}
	return nil
}

func (c *Conn) ping(h h2frame.Head, b []byte) error {
	switch {
	case h.ID != 0:
		return violation(http2.ErrCodeProtocol, "PING of stream %d", h.ID)
	case len(b) != 8:
		return violation(http2.ErrCodeFrameSize, "PING of %d bytes", len(b))
	case h.Flags&http2.FlagPingAck == 0:
		c.out = append(h2frame.AppendHead(c.out, len(b), http2.FramePing, http2.FlagPingAck, 0), b...)
	}
	return nil
}

func (c *Conn) windowUpdate(h h2frame.Head, b []byte) error {
	if len(b) != 4 {
		return violation(http2.ErrCodeFrameSize, "WINDOW_UPDATE of %d bytes", len(b))
	}
	n := int64(binary.BigEndian.Uint32(b) & h2frame.MaxWindow)
	if h.ID == 0 {
		if c.window += n; n == 0 || c.window > h2frame.MaxWindow {
			return violation(http2.ErrCodeFlowControl, "WINDOW_UPDATE by %d to %d", n, c.window)
		}
		c.wakeBlocked()
		return nil
	}
	if c.idle(h.ID) {
		return violation(http2.ErrCodeProtocol, "WINDOW_UPDATE of stream %d, which has not begun", h.ID)
	}
	call := c.calls[h.ID]
	if call == nil {
		return nil
	}
	if call.window += n; n == 0 || call.window > h2frame.MaxWindow {
		c.abandon(call, http2.ErrCodeFlowControl, internalError("the server violated HTTP/2: WINDOW_UPDATE by %d to %d", n, call.window))
		return nil
	}
	if call.left > 0 {
		call.wake()
	}
	return nil
}

// resetCodes are the codes of gRPC for those of RST_STREAM; others are Internal.
var resetCodes = map[http2.ErrCode]codes.Code{
	http2.ErrCodeFlowControl:        codes.ResourceExhausted,
	http2.ErrCodeRefusedStream:      codes.Unavailable,
	http2.ErrCodeCancel:             codes.Canceled,
	http2.ErrCodeEnhanceYourCalm:    codes.ResourceExhausted,
	http2.ErrCodeInadequateSecurity: codes.PermissionDenied,
}

func (c *Conn) reset(h h2frame.Head, b []byte) error {
	switch {
	case len(b) != 4:
		return violation(http2.ErrCodeFrameSize, "RST_STREAM of %d bytes", len(b))
	case c.idle(h.ID):
		return violation(http2.ErrCodeProtocol, "RST_STREAM of stream %d, which has not begun", h.ID)
	}
	call := c.calls[h.ID]
	if call == nil {
		return nil
	}
	code := http2.ErrCode(binary.BigEndian.Uint32(b))
	as, ok := resetCodes[code]
	switch {
	case !ok && code <= http2.ErrCodeHTTP11Required:
		as = codes.Internal
	case !ok:
		as = codes.Unknown
	}
	err := grpcstatus.Errorf(as, "stream terminated by RST_STREAM with error code: %v", code)
	if code == http2.ErrCodeRefusedStream {
		err = unprocessed{err}
	}
	c.end(call, err)
	return nil
}

// goAway lets the calls end that the server processes, and starts no other one.
func (c *Conn) goAway(h h2frame.Head, b []byte) error {
	switch {
	case h.ID != 0:
		return violation(http2.ErrCodeProtocol, "GOAWAY of stream %d", h.ID)
	case len(b) < 8:
		return violation(http2.ErrCodeFrameSize, "GOAWAY of %d bytes", len(b))
	}
	last, code, debug := binary.BigEndian.Uint32(b)&h2frame.MaxWindow, http2.ErrCode(binary.BigEndian.Uint32(b[4:])), b[8:]
	if last > c.lastID {
		return violation(http2.ErrCodeProtocol, "GOAWAY with stream %d after one with %d", last, c.lastID)
	}
	if c.reason == "" {
		c.reason = fmt.Sprintf("code: %s", code)
		if len(debug) > 0 {
			c.reason += ", debug data: " + strconv.Quote(string(debug[:min(len(debug), maxForeignBody)]))
		}
	}
	c.draining, c.lastID = true, last
	for id, call := range c.calls {
		if id > last {
			c.end(call, unprocessed{grpcstatus.Error(codes.Unavailable, "the stream is rejected because server is draining the connection")})
		}
	}
	c.wakeWaiting()
	if len(c.calls) == 0 {
		c.fail(errDrained)
	}
	return nil
}
