package http2

import (
	"encoding/base64"
	"errors"
	"io"
)

// textReader decodes a body of gRPC-Web that is base64. Clients may pad each frame, so that padding may be anywhere
// between four characters and the next.
type textReader struct {
	from io.Reader
	raw  [4096]byte
	n    int    // bytes of raw that are not decoded, fewer than four
	out  []byte // decoded and not read
	room [3072]byte
	err  error
}

var errHalfText = errors.New("the base64 of the body ends within four characters")

// Read implements io.Reader.
func (t *textReader) Read(p []byte) (int, error) {
	for len(t.out) == 0 && t.err == nil {
		n, err := t.from.Read(t.raw[t.n:])
		t.n += n
		if t.err = t.decode(); t.err == nil {
			t.err = err
		}
		if errors.Is(t.err, io.EOF) && t.n > 0 {
			t.err = errHalfText
		}
	}
	n := copy(p, t.out)
	if t.out = t.out[n:]; n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, t.err
}

// decode decodes what was read, but for the last characters if they are fewer than four.
func (t *textReader) decode() error {
	whole := t.n - t.n%4
	out := t.room[:0]
	for i := 0; i < whole; i += 4 {
		var err error
		if out, err = base64.StdEncoding.AppendDecode(out, t.raw[i:i+4]); err != nil {
			return errors.New("the body is not base64")
		}
	}
	t.out = out
	t.n = copy(t.raw[:], t.raw[whole:t.n])
	return nil
}
