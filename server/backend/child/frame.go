// Package child runs supervised child processes: it starts them, talks to them in
// frames over pipes, logs what they print, reports why they ended and leaves
// no process and no descriptor behind. It does not know what a child does.
package child

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"triton/pkg/nonblock"
)

// A frame is a header of 8 bytes and a body. The header holds the length of the body
// (uint32) and the type (uint8); the other 3 bytes are 0. All numbers are
// little-endian. docs/adr/0022-child-processes.md has the table of frames.
const (
	headerBytes = 8
	// maxBody is the largest body. Large tensors are not in frames.
	maxBody = 256 << 20
)

// ErrFrame is wrapped by the errors of malformed frames.
var ErrFrame = errors.New("malformed frame")

// Message builds one frame. The zero value is ready for Begin, and a Message may be
// used again.
type Message struct{ buf []byte }

// Begin starts a frame of a type.
func (m *Message) Begin(kind uint8) *Message {
	m.buf = append(m.buf[:0], 0, 0, 0, 0, kind, 0, 0, 0)
	return m
}

// Uint8 appends a number.
func (m *Message) Uint8(v uint8) { m.buf = append(m.buf, v) }

// Uint32 appends a number.
func (m *Message) Uint32(v uint32) { m.buf = binary.LittleEndian.AppendUint32(m.buf, v) }

// Uint64 appends a number.
func (m *Message) Uint64(v uint64) { m.buf = binary.LittleEndian.AppendUint64(m.buf, v) }

// String appends a length and the bytes of a string.
func (m *Message) String(s string) {
	m.Uint32(uint32(len(s)))
	m.buf = append(m.buf, s...)
}

// Raw appends bytes without a length.
func (m *Message) Raw(b []byte) { m.buf = append(m.buf, b...) }

// Body returns the body so far; it is valid until the next call.
func (m *Message) Body() []byte { return m.buf[headerBytes:] }

// Len returns the length of the frame so far, with its header.
func (m *Message) Len() int { return len(m.buf) }

// Align appends zeros until the length of the frame is a multiple of n, a power of two.
func (m *Message) Align(n int) {
	for len(m.buf)&(n-1) != 0 {
		m.buf = append(m.buf, 0)
	}
}

// Grow appends n bytes for the caller to write. They are valid until the next call.
func (m *Message) Grow(n int) []byte {
	m.buf = slices.Grow(m.buf, n)[:len(m.buf)+n]
	return m.buf[len(m.buf)-n:]
}

// PutUint32 writes a number over the four bytes at an index of the frame.
func (m *Message) PutUint32(at int, v uint32) { binary.LittleEndian.PutUint32(m.buf[at:], v) }

// PutUint64 writes a number over the eight bytes at an index of the frame.
func (m *Message) PutUint64(at int, v uint64) { binary.LittleEndian.PutUint64(m.buf[at:], v) }

// finish writes the length of the body.
func (m *Message) finish() error {
	n := len(m.buf) - headerBytes
	if n < 0 || n > maxBody {
		return fmt.Errorf("%w: a body of %d bytes", ErrFrame, n)
	}
	binary.LittleEndian.PutUint32(m.buf, uint32(n))
	return nil
}

// Frame is a frame that was received.
type Frame struct {
	Kind uint8
	// Body is valid until the next frame is received.
	Body []byte
}

// Reader reads the body of a frame from its front. After the first error it returns
// zeros; Err returns that error.
type Reader struct {
	rest []byte
	err  error
}

// NewReader returns a Reader of a body.
func NewReader(body []byte) *Reader { return &Reader{rest: body} }

// Next returns the next n bytes, which are part of the body.
func (r *Reader) Next(n uint64) []byte {
	if r.err == nil && n > uint64(len(r.rest)) {
		r.err = fmt.Errorf("%w: %d bytes where %d are expected", ErrFrame, len(r.rest), n)
	}
	if r.err != nil {
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// Uint8 reads a number.
func (r *Reader) Uint8() uint8 {
	if b := r.Next(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint32 reads a number.
func (r *Reader) Uint32() uint32 {
	if b := r.Next(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Uint64 reads a number.
func (r *Reader) Uint64() uint64 {
	if b := r.Next(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// String reads a length and a string.
func (r *Reader) String() string { return string(r.Next(uint64(r.Uint32()))) }

// Err returns why the body could not be read; nil when it could.
func (r *Reader) Err() error { return r.err }

// Len returns how many bytes are left.
func (r *Reader) Len() int { return len(r.rest) }

// Conn sends and receives frames. One goroutine at a time may send, and one may
// receive.
type Conn struct {
	from Source
	to   io.WriteCloser
	in   *bufio.Reader // of from
	out  io.Writer     // to
	head [headerBytes]byte
	body []byte
}

// Source is a stream that is read with a deadline.
type Source interface {
	io.ReadCloser
	SetReadDeadline(t time.Time) error
}

// NewConn returns a Conn that receives from a stream and sends to another, or to the same one.
func NewConn(from Source, to io.WriteCloser) *Conn {
	c := &Conn{from: from, to: to, out: to}
	var in io.Reader = from
	if direct := nonblock.New(from); direct != nil {
		in = direct
	}
	if direct := nonblock.New(to); direct != nil {
		c.out = direct
	}
	c.in = bufio.NewReaderSize(in, 16<<10)
	return c
}

// Send sends a frame.
func (c *Conn) Send(m *Message) error {
	if err := m.finish(); err != nil {
		return err
	}
	_, err := c.out.Write(m.buf)
	return err
}

// keepBody is the largest body whose memory is kept for the next one.
const keepBody = 1 << 20

// Receive waits for a frame.
func (c *Conn) Receive() (Frame, error) {
	if _, err := io.ReadFull(c.in, c.head[:]); err != nil {
		return Frame{}, err
	}
	n := binary.LittleEndian.Uint32(c.head[:])
	if n > maxBody {
		return Frame{}, fmt.Errorf("%w: a body of %d bytes", ErrFrame, n)
	}
	if cap(c.body) > keepBody && n <= keepBody {
		c.body = nil
	}
	if uint32(cap(c.body)) < n {
		c.body = make([]byte, n)
	}
	c.body = c.body[:n]
	if _, err := io.ReadFull(c.in, c.body); err != nil {
		return Frame{}, err
	}
	return Frame{Kind: c.head[4], Body: c.body}, nil
}

// Deadline bounds how long Receive waits; the zero time means no bound.
func (c *Conn) Deadline(t time.Time) error { return c.from.SetReadDeadline(t) }

// Close ends the connection. Calls that wait return an error.
func (c *Conn) Close() error { return errors.Join(c.from.Close(), c.to.Close()) }
