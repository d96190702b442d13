package scaffold

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ubjson reads Universal Binary JSON (draft 12), in which XGBoost saves models. It keeps the
// texts that are asked for and skips the rest: a model may be larger than the memory.
type ubjson struct {
	r    *bufio.Reader
	want map[string]*string // by the keys to the text, with slashes between
	left int                // texts not found yet
}

var errUBJSON = errors.New("it is not UBJSON")

// readUBJSON reads texts of a document into want, by their keys with slashes between.
func readUBJSON(r io.Reader, want map[string]*string) error {
	u := &ubjson{r: bufio.NewReader(r), want: want, left: len(want)}
	marker, err := u.marker()
	if err == nil {
		err = u.value(marker, "", 0)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

const (
	deepest     = 64      // values within values
	longestText = 1 << 20 // of the texts that are kept, and of keys
)

// marker reads the byte that says which value follows.
func (u *ubjson) marker() (byte, error) {
	for {
		m, err := u.r.ReadByte()
		if err != nil || m != 'N' { // no-op
			return m, err
		}
	}
}

// sizes are the bytes of the values of fixed size.
var sizes = map[byte]int64{'Z': 0, 'T': 0, 'F': 0, 'i': 1, 'U': 1, 'C': 1, 'I': 2, 'l': 4, 'd': 4, 'L': 8, 'D': 8}

func (u *ubjson) value(marker byte, path string, depth int) error {
	size, fixed := sizes[marker]
	switch {
	case fixed:
		return u.skip(size)
	case marker == 'S' || marker == 'H':
		return u.text(path)
	case depth == deepest:
		return fmt.Errorf("%w: values are nested deeper than %d", errUBJSON, deepest)
	case marker == '[':
		return u.container(']', "", depth)
	case marker == '{':
		return u.container('}', path, depth)
	}
	return fmt.Errorf("%w: unknown marker 0x%02x", errUBJSON, marker)
}

// text reads or skips a text.
func (u *ubjson) text(path string) error {
	n, err := u.length()
	if err != nil {
		return err
	}
	to := u.want[path]
	if to == nil {
		return u.skip(n)
	}
	text, err := u.read(n)
	*to = text
	u.left--
	return err
}

// container reads an array or an object up to its end: the closing marker, or the number of values
// that it announces.
func (u *ubjson) container(end byte, path string, depth int) error {
	marker, err := u.marker()
	if err != nil {
		return err
	}
	var all byte // the type of all values
	if marker == '$' {
		if all, err = u.r.ReadByte(); err != nil {
			return err
		}
		if marker, err = u.marker(); err != nil {
			return err
		}
		if marker != '#' {
			return fmt.Errorf("%w: a type without a count", errUBJSON)
		}
	}
	count := int64(-1)
	if marker == '#' {
		if count, err = u.length(); err != nil {
			return err
		}
		if size, fixed := sizes[all]; fixed && all != 0 && end == ']' {
			return u.skipMany(count, size)
		}
	} else if err := u.r.UnreadByte(); err != nil {
		return err
	}
	for i := int64(0); count < 0 || i < count; i++ {
		done, err := u.element(end, count < 0, all, path, depth)
		if done || err != nil {
			return err
		}
		if u.left == 0 {
			return nil // what follows is not needed
		}
	}
	return nil
}

// element reads a value of a container and its key. It reports true at the end.
func (u *ubjson) element(end byte, open bool, marker byte, path string, depth int) (done bool, err error) {
	if open || (end == ']' && marker == 0) {
		m, err := u.marker()
		if err != nil {
			return false, err
		}
		if open && m == end {
			return true, nil
		}
		if end == ']' {
			marker = m
		} else if err := u.r.UnreadByte(); err != nil {
			return false, err
		}
	}
	key := ""
	if end == '}' {
		n, err := u.length()
		if err != nil {
			return false, err
		}
		if key, err = u.read(n); err != nil {
			return false, err
		}
		if path != "" {
			key = path + "/" + key
		}
		if marker == 0 {
			if marker, err = u.marker(); err != nil {
				return false, err
			}
		}
	}
	return false, u.value(marker, key, depth+1)
}

// length reads a number that is not negative, with its marker.
func (u *ubjson) length() (int64, error) {
	m, err := u.marker()
	if err != nil {
		return 0, err
	}
	var b [8]byte
	size := sizes[m]
	switch m {
	case 'i', 'U', 'I', 'l', 'L':
	default:
		return 0, fmt.Errorf("%w: a length has the marker 0x%02x", errUBJSON, m)
	}
	if _, err := io.ReadFull(u.r, b[8-size:]); err != nil {
		return 0, err
	}
	n := int64(binary.BigEndian.Uint64(b[:]))
	switch m { // of the signed types, the sign
	case 'i':
		n = int64(int8(n))
	case 'I':
		n = int64(int16(n))
	case 'l':
		n = int64(int32(n))
	}
	if n < 0 {
		return 0, fmt.Errorf("%w: a length is %d", errUBJSON, n)
	}
	return n, nil
}

func (u *ubjson) read(n int64) (string, error) {
	if n > longestText {
		return "", fmt.Errorf("%w: a text of %d bytes", errUBJSON, n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(u.r, b)
	return string(b), err
}

func (u *ubjson) skip(n int64) error {
	_, err := io.CopyN(io.Discard, u.r, n)
	return err
}

func (u *ubjson) skipMany(count, size int64) error {
	if size > 0 && count > (1<<62)/size {
		return fmt.Errorf("%w: an array of %d values", errUBJSON, count)
	}
	return u.skip(count * size)
}
