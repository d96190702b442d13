package h2

import (
	"strconv"
	"time"

	"golang.org/x/net/http2"
)

// Field is a header field. Its name is in lower case.
type Field struct{ Name, Value string }

// Head is the header list of a call, encoded once for all connections.
type Head struct {
	plain []byte // literals, which leave the table of the peer as it is
	first []byte // literals that add each field to the table
	later []byte // references to what first added
	table uint32 // size of these entries of the table
	size  uint64 // as SETTINGS_MAX_HEADER_LIST_SIZE counts it
}

// Representations of HPACK, RFC 7541, section 6.
const (
	hpackIndexed     = 0x80
	hpackIncremental = 0x40
	hpackLiteral     = 0
	hpackTableSize   = 0x20
	staticEntries    = 61
	entryOverhead    = 32
)

// static are the fields that need no entry of the table.
var static = map[Field]byte{
	{":method", "POST"}: 3, {":scheme", "http"}: 6, {":scheme", "https"}: 7,
}

// NewHead encodes a header list.
func NewHead(fields []Field) *Head {
	h := &Head{}
	var added []int // positions in later
	for _, f := range fields {
		h.size += uint64(len(f.Name) + len(f.Value) + entryOverhead)
		if i, ok := static[f]; ok {
			h.plain, h.first = append(h.plain, hpackIndexed|i), append(h.first, hpackIndexed|i)
			added = append(added, int(i)-staticEntries)
			continue
		}
		h.plain = appendField(h.plain, hpackLiteral, f)
		h.first = appendField(h.first, hpackIncremental, f)
		h.table += uint32(len(f.Name) + len(f.Value) + entryOverhead)
		added = append(added, 0)
	}
	index := staticEntries // the newest entry has the lowest index
	for _, i := range added {
		if i == 0 {
			index++
		}
	}
	for _, i := range added {
		if i != 0 {
			h.later = append(h.later, hpackIndexed|byte(i+staticEntries))
			continue
		}
		h.later = appendInt(h.later, hpackIndexed, 7, index)
		index--
	}
	return h
}

func appendField(b []byte, kind byte, f Field) []byte {
	b = append(b, kind)
	b = append(appendInt(b, 0, 7, len(f.Name)), f.Name...)
	return append(appendInt(b, 0, 7, len(f.Value)), f.Value...)
}

// appendInt appends an integer behind the flags in a byte of which it has some bits, RFC 7541, section 5.1.
func appendInt(b []byte, flags byte, bits, v int) []byte {
	most := 1<<bits - 1
	if v < most {
		return append(b, flags|byte(v))
	}
	b = append(b, flags|byte(most))
	for v -= most; v >= 0x80; v >>= 7 {
		b = append(b, 0x80|byte(v))
	}
	return append(b, byte(v))
}

// appendTimeout appends the field grpc-timeout, whose value has at most 8 digits.
func appendTimeout(b []byte, d time.Duration) []byte {
	unit, n := byte('n'), int64(max(d, 1))
	for _, u := range []struct {
		unit byte
		size time.Duration
	}{{'u', time.Microsecond}, {'m', time.Millisecond}, {'S', time.Second}, {'M', time.Minute}, {'H', time.Hour}} {
		if n < 1e8 {
			break
		}
		unit, n = u.unit, int64((d+u.size-1)/u.size)
	}
	return appendField(b, hpackLiteral, Field{"grpc-timeout", strconv.FormatInt(min(n, 1e8-1), 10) + string(unit)})
}

// appendHead appends the HEADERS frame of a call, with CONTINUATION frames if it is long.
func (c *Conn) appendHead(h *Head, id uint32, timeout time.Duration) {
	b := c.block[:0]
	if c.dropTable {
		b, c.dropTable = append(b, hpackTableSize), false
	}
	switch {
	case c.indexed == h:
		b = append(b, h.later...)
	case c.indexed == nil && h.table <= initialTable && !c.noTable:
		c.indexed, b = h, append(b, h.first...)
	default:
		b = append(b, h.plain...)
	}
	if timeout > 0 {
		b = appendTimeout(b, timeout)
	}
	c.block = b
	kind := http2.FrameHeaders
	for {
		n := min(len(b), c.maxFrame)
		flags := http2.Flags(0)
		if n == len(b) {
			flags = http2.FlagHeadersEndHeaders // the same bit as that of CONTINUATION
		}
		c.out = append(appendFrame(c.out, n, kind, flags, id), b[:n]...)
		if b = b[n:]; len(b) == 0 {
			return
		}
		kind = http2.FrameContinuation
	}
}
