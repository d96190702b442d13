package h2

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/h2frame"
)

// list is a header list whose frames are not all there.
type list struct {
	open      bool
	id        uint32
	end       bool // the call ends with it
	block     []byte
	fragments int
}

// fields are those of a header list that mean something to a call.
type fields struct {
	decoder  *hpack.Decoder
	size     int
	status   string
	kind     string // content-type
	encoding string
	result   string // grpc-status
	message  string // grpc-message
}

func (f *fields) add(h hpack.HeaderField) {
	if f.size += len(h.Name) + len(h.Value) + h2frame.EntryOverhead; f.size > maxHeaderList {
		return
	}
	switch h.Name {
	case ":status":
		f.status = h.Value
	case "content-type":
		f.kind = h.Value
	case "grpc-encoding":
		f.encoding = h.Value
	case "grpc-status":
		f.result = h.Value
	case "grpc-message":
		f.message = h.Value
	}
}

func (c *Conn) beginList(h h2frame.Head, b []byte) error {
	if c.idle(h.ID) {
		return violation(http2.ErrCodeProtocol, "HEADERS of stream %d, which has not begun", h.ID)
	}
	pad := 0
	if h.Flags&http2.FlagHeadersPadded != 0 && len(b) > 0 {
		pad, b = int(b[0]), b[1:]
	}
	if h.Flags&http2.FlagHeadersPriority != 0 {
		pad += 5
	}
	if pad > len(b) {
		return violation(http2.ErrCodeProtocol, "HEADERS is shorter than its padding")
	}
	if h.Flags&http2.FlagHeadersPriority != 0 {
		b, pad = b[5:], pad-5
	}
	b = b[:len(b)-pad]
	end := h.Flags&http2.FlagHeadersEndStream != 0
	if h.Flags&http2.FlagHeadersEndHeaders != 0 {
		return c.decode(h.ID, b, end)
	}
	l := &c.in.list
	*l = list{open: true, id: h.ID, end: end, block: append(l.block[:0], b...)}
	return nil
}

func (c *Conn) continueList(h h2frame.Head, b []byte) error {
	l := &c.in.list
	if !l.open {
		return violation(http2.ErrCodeProtocol, "CONTINUATION without HEADERS")
	}
	l.block = append(l.block, b...)
	if l.fragments++; l.fragments > maxFragments+len(l.block)/h2frame.SmallestMax || len(l.block) > maxHeaderList {
		return violation(http2.ErrCodeEnhanceYourCalm, "a header list has %d bytes in %d frames", len(l.block), l.fragments+1)
	}
	if h.Flags&http2.FlagContinuationEndHeaders == 0 {
		return nil
	}
	l.open = false
	return c.decode(l.id, l.block, l.end)
}

// decode decodes every header list, because each may change the table of the connection.
func (c *Conn) decode(id uint32, block []byte, end bool) error {
	f := &c.in.fields
	*f = fields{decoder: f.decoder}
	_, err := f.decoder.Write(block)
	if err == nil {
		err = f.decoder.Close()
	}
	if err != nil {
		return violation(http2.ErrCodeCompression, "header list: %v", err)
	}
	call := c.calls[id]
	switch {
	case call == nil:
	case f.size > maxHeaderList:
		c.abandon(call, http2.ErrCodeFrameSize, internalError("peer header list size exceeded limit"))
	case call.foreign != nil:
		if end {
			c.refuse(call, call.foreignError())
		}
	case call.begun && !end:
		c.abandon(call, http2.ErrCodeProtocol, internalError("a HEADERS frame cannot appear in the middle of a stream"))
	case !call.begun && !isGRPC(f.kind):
		c.foreign(call, f, end)
	case end:
		c.finish(call, f)
	default:
		call.begun, call.encoding = true, f.encoding
	}
	return nil
}

func isGRPC(contentType string) bool {
	rest, ok := strings.CutPrefix(contentType, "application/grpc")
	return ok && (rest == "" || rest[0] == '+' || rest[0] == ';')
}

// finish ends a call with its trailer.
func (c *Conn) finish(call *Call, f *fields) {
	code := codes.Unknown
	if f.result == "0" {
		code = codes.OK
	} else if f.result != "" {
		n, err := strconv.ParseInt(f.result, 10, 32)
		if err != nil {
			c.refuse(call, grpcstatus.Errorf(codes.Unknown, "transport: malformed grpc-status: %v", err))
			return
		}
		code = codes.Code(uint32(n))
	}
	var err error
	switch {
	case code != codes.OK:
		err = grpcstatus.Error(code, decodeMessage(f.message))
	case call.prefixed > 0 || call.missing > 0:
		err = internalError("unexpected EOF")
	case !call.notify && len(call.inbox.Messages) == 0:
		err = internalError("cardinality violation: received no response message from non-server-streaming RPC")
	}
	if !call.halfClosed { // the server needs no more of the request
		c.abandon(call, http2.ErrCodeNo, err)
		return
	}
	c.end(call, err)
}

// refuse ends a call whose response is not what it must be.
func (c *Conn) refuse(call *Call, err error) { c.abandon(call, http2.ErrCodeProtocol, err) }

// foreign handles the header of a response that is not gRPC.
func (c *Conn) foreign(call *Call, f *fields, end bool) {
	code, text := codes.Internal, "malformed header: missing HTTP status"
	if f.status != "" {
		n, err := strconv.Atoi(f.status)
		switch {
		case err != nil:
			c.refuse(call, internalError("transport: malformed http-status: %v", err))
			return
		case n >= 100 && n < 200 && end:
			c.refuse(call, internalError("protocol error: informational header with status code %d must not have END_STREAM set", n))
			return
		case n >= 100 && n < 200:
			return
		}
		code = codeOfHTTP(n)
		text = fmt.Sprintf("unexpected HTTP status code received from server: %d (%s)", n, http.StatusText(n))
	}
	if f.kind == "" {
		text += "; malformed header: missing HTTP content-type"
	} else {
		text += fmt.Sprintf("; transport: received unexpected content-type %q", f.kind)
	}
	if end {
		c.refuse(call, grpcstatus.Error(code, text))
		return
	}
	call.foreign = grpcstatus.New(code, text)
}

func codeOfHTTP(n int) codes.Code {
	switch n {
	case http.StatusBadRequest:
		return codes.Internal
	case http.StatusUnauthorized:
		return codes.Unauthenticated
	case http.StatusForbidden:
		return codes.PermissionDenied
	case http.StatusNotFound:
		return codes.Unimplemented
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return codes.Unavailable
	}
	return codes.Unknown
}

// decodeMessage decodes the percent-encoding of grpc-message. What is not encoded stays as it is.
func decodeMessage(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(v))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
