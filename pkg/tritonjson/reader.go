// Package tritonjson reads and writes JSON as Triton's JSON layer does: the
// same error texts with the same byte offsets, the same accessors with the same
// type errors, the same escapes and the same digits of floating point numbers.
//
// It exists besides encoding/json because clients compare these texts and because
// tensors are large: Reader is a cursor over the text that reads numbers
// straight into tensor memory, without reflection and without allocation, about
// ten times as fast as encoding/json fills a slice. Code that needs neither uses
// encoding/json. The package knows no tensors and no messages.
package tritonjson

import "triton/pkg/status"

// Reader is a cursor over a JSON text. A method that fails records the reason
// and the offset of the syntax error for Err; the cursor is undefined then.
//
// The methods below Document rely on its check of the syntax: after Document they can fail
// only because of the type of a value.
type Reader struct {
	text []byte
	at   int

	reason   string // of the last syntax error
	reasonAt int

	scratch []byte // the last string that had escapes
}

// maxScratch bounds the memory for strings that Release keeps.
const maxScratch = 64 << 10

// Reset puts the cursor at the start of a text, after its byte order mark if it
// has one. The Reader refers to the text until Release.
func (r *Reader) Reset(text []byte) {
	*r = Reader{text: text, scratch: r.scratch[:0]}
	if len(text) >= 3 && text[0] == 0xEF && text[1] == 0xBB && text[2] == 0xBF {
		r.at = 3
	}
}

// Release drops the text, and the scratch memory if it is large.
func (r *Reader) Release() {
	r.text = nil
	if cap(r.scratch) > maxScratch {
		r.scratch = nil
	}
}

// Reason returns the reason and the offset of the recorded syntax error.
func (r *Reader) Reason() (text string, at int) { return r.reason, r.reasonAt }

// Err returns the recorded syntax error in the words that Triton sends to clients.
func (r *Reader) Err() *status.Error {
	if r.reason == reasonDepth {
		return ErrDepth
	}
	return status.New(status.InvalidArg, "failed to parse the request JSON buffer: %s at %d", r.reason, r.reasonAt)
}

func (r *Reader) fail(reason string, at int) bool {
	r.reason, r.reasonAt = reason, at
	return false
}

// Pos returns the offset of the cursor in the text.
func (r *Reader) Pos() int { return r.at }

// Seek moves the cursor to an offset that Pos returned.
func (r *Reader) Seek(pos int) { r.at = pos }

// Since returns the text from an offset that Pos returned to the cursor.
func (r *Reader) Since(pos int) []byte { return r.text[pos:r.at] }

// Left returns how many bytes follow the cursor.
func (r *Reader) Left() int { return len(r.text) - r.at }

// Peek returns the byte at the cursor, 0 at the end: a zero byte ends the text.
func (r *Reader) Peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

// Is reports whether the value at the cursor starts with c.
func (r *Reader) Is(c byte) bool { return r.Peek() == c }

// Enter skips the opening bracket of an array or object. Call Element or Member next.
func (r *Reader) Enter() { r.at++ }

// Space skips white space.
func (r *Reader) Space() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\n', '\r', '\t':
			r.at++
		default:
			return
		}
	}
}

// Document checks the syntax of the whole text and leaves the cursor on its root
// value.
func (r *Reader) Document() bool {
	r.Space()
	root := r.at
	if r.Peek() == 0 {
		return r.fail(reasonEmpty, r.at)
	}
	if !r.Skip(0) || !r.End() {
		return false
	}
	r.at = root
	return true
}

// End checks that nothing follows the root value.
func (r *Reader) End() bool {
	r.Space()
	if r.Peek() != 0 {
		return r.fail(reasonRoot, r.at)
	}
	return true
}
