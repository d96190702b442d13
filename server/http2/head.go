package http2

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// head is the header list of a call. It does not change, and may belong to many calls.
type head struct {
	path     string
	rpc      *method // nil: missing says why there is none
	missing  string
	md       metadata.MD
	encoding string // of the messages of the client
	accepts  string // encodings
	subtype  string
	timed    bool
	timeout  time.Duration

	// plain: it is a request of HTTP, with these fields.
	plain  bool
	fields []hpack.HeaderField

	// refused is the status of a call that does not begin, with a status of HTTP.
	refused *status.Status
	http    int

	method     string
	isGRPC     bool
	otherType  string
	regular    bool // a field that is not a pseudo-header has come
	malformed  bool // as a whole
	broken     bool // a field is, or a pseudo-header is behind others
	connection bool
	tooLong    bool
	invalid    *status.Status
	pseudo     [len(pseudoNames)]bool
}

var pseudoNames = [...]string{":method", ":path", pseudoScheme: ":scheme", ":authority"}

const pseudoScheme = 2

// lateHead is the head of calls whose time is over before they begin.
var lateHead = head{refused: status.New(codes.DeadlineExceeded, context.DeadlineExceeded.Error()), http: http.StatusOK}

// resets returns the code with which a malformed call is reset; ErrCodeNo if it is not.
func (h *head) resets() http2.ErrCode {
	switch {
	case h.malformed || h.broken:
		return http2.ErrCodeProtocol
	case h.tooLong:
		return http2.ErrCodeFrameSize
	case h.connection && h.refused == nil:
		return http2.ErrCodeProtocol
	}
	return http2.ErrCodeNo
}

// add adds a field.
func (h *head) add(name, value string) {
	if !httpguts.ValidHeaderFieldValue(value) {
		h.broken = true
		return
	}
	if strings.HasPrefix(name, ":") {
		h.addPseudo(name, value)
		return
	}
	h.regular = true
	if !validName(name) {
		h.broken = true
		return
	}
	switch name {
	case "content-type":
		subtype, ok := contentSubtype(value)
		if !ok {
			h.otherType = value
			return
		}
		h.subtype, h.isGRPC = subtype, true
		h.append(name, value)
	case "grpc-accept-encoding":
		h.append(name, value)
		if h.accepts != "" && value != "" {
			value = h.accepts + "," + value
		}
		if value != "" {
			h.accepts = value
		}
	case "grpc-encoding":
		h.encoding = value
	case "grpc-timeout":
		var err error
		h.timed = true
		if h.timeout, err = parseTimeout(value); err != nil {
			h.invalid = status.Newf(codes.Internal, "malformed grpc-timeout: %v", err)
		}
	case "connection":
		h.connection = true
	case "te":
		h.malformed = h.malformed || value != "trailers"
	case "grpc-message-type", "grpc-message", "grpc-status":
	default:
		h.addMetadata(name, value)
	}
}

func (h *head) addPseudo(name, value string) {
	h.broken = h.broken || h.regular
	for i, known := range pseudoNames {
		if name != known {
			continue
		}
		h.malformed = h.malformed || h.pseudo[i]
		h.pseudo[i] = true
		switch name {
		case ":method":
			h.method = value
		case ":path":
			h.path = value
		case ":authority":
			h.append(name, value)
		}
		return
	}
	h.malformed = true
}

func (h *head) addMetadata(name, value string) {
	if strings.HasSuffix(name, binarySuffix) {
		b, err := decodeBinary(value)
		if err != nil {
			h.invalid = status.Newf(codes.Internal, "malformed binary metadata %q in header %q: %v", value, name, err)
			return
		}
		value = string(b)
	}
	h.append(name, value)
}

func (h *head) append(name, value string) {
	if h.md == nil {
		h.md = make(metadata.MD, 8)
	}
	h.md[name] = append(h.md[name], value)
}

// complete decides what the list as a whole means.
func (h *head) complete(s *Server) {
	if !h.tooLong && !h.broken && h.method != http.MethodConnect && (h.method == "" || h.path == "" || !h.pseudo[pseudoScheme]) {
		h.malformed = true // RFC 9113, 8.3.1
	}
	authorities, hosts := h.md[":authority"], h.md["host"]
	switch {
	case len(authorities) > 1 || len(hosts) > 1:
		h.refuse(http.StatusBadRequest, codes.Internal,
			"num values of :authority: %v, num values of host: %v, both must only have 1 value as per HTTP/2 spec", len(authorities), len(hosts))
	case h.connection:
	case !h.isGRPC && s.opts.HTTP != nil && h.method != "" && h.path != "":
		h.plain, h.timed = true, false // a timeout is that of a call within
	case !h.isGRPC:
		h.refuse(http.StatusUnsupportedMediaType, codes.InvalidArgument, "invalid gRPC request content-type %q", h.otherType)
	case h.invalid != nil:
		h.refused, h.http = h.invalid, http.StatusBadRequest
	case len(authorities)+len(hosts) == 0:
		h.refuse(http.StatusBadRequest, codes.Internal, "no host or :authority header present")
	case h.method != http.MethodPost:
		h.refuse(http.StatusMethodNotAllowed, codes.Internal, "Received a HEADERS frame with :method %q which should be POST", h.method)
	}
	if len(authorities) == 0 && len(hosts) > 0 {
		h.md[":authority"] = hosts
	}
	delete(h.md, "host")
	h.rpc, h.missing = s.find(h.path)
}

func (h *head) refuse(http int, code codes.Code, format string, args ...any) {
	h.refused, h.http = status.Newf(code, format, args...), http
}

// validName reports whether a name is one of HTTP/2, which has no upper case.
func validName(name string) bool {
	if name == "" {
		return false
	}
	for i := range len(name) {
		if b := name[i]; !httpguts.IsTokenRune(rune(b)) || 'A' <= b && b <= 'Z' {
			return false
		}
	}
	return true
}

const contentType = "application/grpc"

// contentSubtype returns what is behind the type of gRPC in a content type; false for others.
func contentSubtype(v string) (string, bool) {
	rest, ok := strings.CutPrefix(v, contentType)
	switch {
	case !ok:
		return "", false
	case rest == "":
		return "", true
	case rest[0] == '+' || rest[0] == ';':
		return rest[1:], true
	}
	return "", false
}

// maxTimeout is the length of the longest timeout: eight digits and the unit.
const maxTimeout = 9

// parseTimeout parses grpc-timeout.
func parseTimeout(s string) (time.Duration, error) {
	switch {
	case len(s) < 2:
		return 0, fmt.Errorf("transport: timeout string is too short: %q", s)
	case len(s) > maxTimeout:
		return 0, fmt.Errorf("transport: timeout string is too long: %q", s)
	}
	var unit time.Duration
	switch s[len(s)-1] {
	case 'H':
		unit = time.Hour
	case 'M':
		unit = time.Minute
	case 'S':
		unit = time.Second
	case 'm':
		unit = time.Millisecond
	case 'u':
		unit = time.Microsecond
	case 'n':
		unit = time.Nanosecond
	default:
		return 0, fmt.Errorf("transport: timeout unit is not recognized: %q", s)
	}
	n, err := strconv.ParseUint(s[:len(s)-1], 10, 63)
	if err != nil {
		return 0, err
	}
	if n > math.MaxInt64/uint64(unit) {
		return math.MaxInt64, nil
	}
	return unit * time.Duration(n), nil
}

// binarySuffix ends the names of metadata whose values are encoded.
const binarySuffix = "-bin"

func decodeBinary(v string) ([]byte, error) {
	if len(v)%4 == 0 { // may be padded
		return base64.StdEncoding.DecodeString(v)
	}
	return base64.RawStdEncoding.DecodeString(v)
}

func encodeBinary(b []byte) string { return base64.RawStdEncoding.EncodeToString(b) }
