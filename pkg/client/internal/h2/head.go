package h2

import (
	"strconv"
	"time"

	"triton/pkg/h2frame"
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

// static are the fields that need no entry of the table.
var static = map[Field]byte{
	{":method", "POST"}: 3, {":scheme", "http"}: 6, {":scheme", "https"}: 7,
}

// NewHead encodes a header list.
func NewHead(fields []Field) *Head {
	h := &Head{}
	var added []int // positions in later
	for _, f := range fields {
		h.size += uint64(len(f.Name) + len(f.Value) + h2frame.EntryOverhead)
		if i, ok := static[f]; ok {
			h.plain, h.first = append(h.plain, h2frame.Indexed|i), append(h.first, h2frame.Indexed|i)
			added = append(added, int(i)-h2frame.StaticEntries)
			continue
		}
		h.plain = h2frame.AppendField(h.plain, h2frame.Literal, f.Name, f.Value)
		h.first = h2frame.AppendField(h.first, h2frame.Incremental, f.Name, f.Value)
		h.table += uint32(len(f.Name) + len(f.Value) + h2frame.EntryOverhead)
		added = append(added, 0)
	}
	index := h2frame.StaticEntries // the newest entry has the lowest index
	for _, i := range added {
		if i == 0 {
			index++
		}
	}
	for _, i := range added {
		if i != 0 {
			h.later = append(h.later, h2frame.Indexed|byte(i+h2frame.StaticEntries))
			continue
		}
		h.later = h2frame.AppendInt(h.later, h2frame.Indexed, 7, index)
		index--
	}
	return h
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
	return h2frame.AppendField(b, h2frame.Literal, "grpc-timeout", strconv.FormatInt(min(n, 1e8-1), 10)+string(unit))
}

// appendHead appends the HEADERS frame of a call, with CONTINUATION frames if it is long.
func (c *Conn) appendHead(h *Head, id uint32, timeout time.Duration) {
	b := c.block[:0]
	if c.dropTable {
		b, c.dropTable = append(b, h2frame.TableSize), false
	}
	switch {
	case c.indexed == h:
		b = append(b, h.later...)
	case c.indexed == nil && h.table <= h2frame.InitialTable && !c.noTable:
		c.indexed, b = h, append(b, h.first...)
	default:
		b = append(b, h.plain...)
	}
	if timeout > 0 {
		b = appendTimeout(b, timeout)
	}
	c.block = b
	c.out = h2frame.AppendBlock(c.out, b, id, false, c.maxFrame)
}
