package http2

import (
	"strings"

	"google.golang.org/grpc/metadata"

	"triton/pkg/h2frame"
)

// block is an encoded header list.
type block struct {
	bytes  []byte
	size   int64 // as SETTINGS_MAX_HEADER_LIST_SIZE counts it
	before fieldTable
}

func (b *block) count(name, value string) {
	b.size += int64(len(name) + len(value) + h2frame.EntryOverhead)
}

// literal appends a field that leaves the table as it is.
func (b *block) literal(name, value string) {
	b.count(name, value)
	b.bytes = h2frame.AppendField(b.bytes, h2frame.Literal, name, value)
}

// knownFields are the fields of nearly all responses. Each becomes an entry of the client's table.
var knownFields = [...]struct{ name, value string }{
	fieldType: {"content-type", contentType}, fieldOK: {"grpc-status", "0"}, fieldNoMessage: {"grpc-message", ""},
}

const (
	fieldType = iota
	fieldOK
	fieldNoMessage

	indexOK = 8 // of the field :status 200
)

// fieldTable knows what the table of the client has.
type fieldTable struct {
	off     bool // the client has less of a table than HTTP/2 begins with
	shrink  bool // the next list says that the table is empty
	entries int
	at      [len(knownFields)]int // the number of the entry; 0: none
}

// resize handles the size that the client sets.
func (t *fieldTable) resize(v uint32) {
	if v < h2frame.InitialTable && !t.off {
		*t = fieldTable{off: true, shrink: true}
	}
}

// block begins a header list.
func (c *conn) block() block {
	t := &c.fields
	b := block{bytes: c.encoded[:0], before: *t}
	if t.shrink {
		t.shrink = false
		b.bytes = append(b.bytes, h2frame.TableSize)
	}
	return b
}

func (c *conn) known(b *block, i int) {
	t, f := &c.fields, &knownFields[i]
	switch {
	case t.at[i] > 0:
		b.count(f.name, f.value)
		b.bytes = h2frame.AppendInt(b.bytes, h2frame.Indexed, 7, h2frame.StaticEntries+1+t.entries-t.at[i])
	case t.off:
		b.literal(f.name, f.value)
	default:
		t.entries++
		t.at[i] = t.entries
		b.count(f.name, f.value)
		b.bytes = h2frame.AppendField(b.bytes, h2frame.Incremental, f.name, f.value)
	}
}

// ok appends the fields with which every response begins.
func (c *conn) ok(b *block, subtype string) {
	b.count(":status", "200")
	b.bytes = append(b.bytes, h2frame.Indexed|indexOK)
	c.contentType(b, subtype)
}

func (c *conn) contentType(b *block, subtype string) {
	if subtype == "" {
		c.known(b, fieldType)
		return
	}
	b.literal("content-type", contentType+"+"+subtype)
}

func (b *block) metadata(md metadata.MD) { eachField(md, b.literal) }

// eachField calls add with the fields of metadata as they are sent.
func eachField(md metadata.MD, add func(name, value string)) {
	for name, values := range md {
		name = strings.ToLower(name)
		switch name {
		case "content-type", "user-agent", "grpc-message-type", "grpc-encoding", "grpc-message", "grpc-status", "grpc-timeout", "te":
			continue
		}
		for _, v := range values {
			if strings.HasSuffix(name, binarySuffix) {
				v = encodeBinary([]byte(v))
			}
			add(name, v)
		}
	}
}

// queue queues a header list. It reports false, and queues nothing, if the client does not take one of that size.
func (c *conn) queue(b *block, id uint32, end bool) bool {
	c.encoded = b.bytes[:0]
	if c.maxList >= 0 && b.size > c.maxList {
		c.fields = b.before
		return false
	}
	c.life.sent = true
	c.out = h2frame.AppendBlock(c.out, b.bytes, id, end, c.maxFrame)
	return true
}
