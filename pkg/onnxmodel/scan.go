package onnxmodel

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	windowSize = 32 << 10
	// maxKept limits the memory of everything kept from one file, whatever its
	// content.
	maxKept  = 64 << 20
	maxText  = 64 << 10 // one name or metadata value
	maxDepth = 32       // nested groups of unknown fields
)

// scanner iterates over the protobuf fields of a file through a small window. Fields
// without a callback are skipped without reading them.
type scanner struct {
	r      io.ReaderAt
	size   int64
	window []byte // the file's bytes from start on
	start  int64
	pos    int64
	kept   int
	path   []step
}

// step is one message or field on the path from the root, for error texts.
type step struct {
	name  string
	index int // of a repeated field; -1 for a single one
}

// field is one field: a number, or a payload that ends at end.
type field struct {
	num  protowire.Number
	typ  protowire.Type
	at   int64 // offset of its tag
	end  int64
	uint uint64 // value of a varint
}

func (f field) message() bool { return f.typ == protowire.BytesType }
func (f field) varint() bool  { return f.typ == protowire.VarintType }

// fields calls visit for each field up to end. It skips the bytes that visit leaves
// unread.
func (s *scanner) fields(end int64, visit func(field) error) error {
	for s.pos < end {
		f, err := s.next(end)
		if err != nil {
			return err
		}
		if err := visit(f); err != nil {
			return err
		}
		s.pos = f.end
	}
	return nil
}

// nested calls visit for each field of the message in f. Error texts call the message name.
func (s *scanner) nested(f field, name string, index int, visit func(field) error) error {
	s.path = append(s.path, step{name, index})
	err := s.fields(f.end, visit)
	s.path = s.path[:len(s.path)-1]
	return err
}

// next reads one tag and, depending on its type, the number or the length after it.
func (s *scanner) next(end int64) (field, error) {
	f := field{at: s.pos}
	tag, err := s.varint(end)
	if err != nil {
		return f, err
	}
	num, typ := protowire.DecodeTag(tag)
	if num < protowire.MinValidNumber {
		return f, s.errorf(f.at, "invalid field tag %#x", tag)
	}
	f.num, f.typ = num, typ
	switch typ {
	case protowire.VarintType:
		f.uint, err = s.varint(end)
		f.end = s.pos
	case protowire.Fixed32Type:
		f.end = s.pos + 4
	case protowire.Fixed64Type:
		f.end = s.pos + 8
	case protowire.BytesType:
		f.end, err = s.length(f, end)
	case protowire.StartGroupType:
		f.end, err = s.group(f, end)
	default:
		err = s.errorf(f.at, "field %d has wire type %d, which does not belong here", num, typ)
	}
	if err == nil && f.end > end {
		err = s.errorf(f.at, "field %d is cut off at %d", num, end)
	}
	return f, err
}

// length reads the length of a payload and returns where the payload ends.
func (s *scanner) length(f field, end int64) (int64, error) {
	n, err := s.varint(end)
	if err != nil {
		return 0, err
	}
	if n > uint64(end-s.pos) {
		return 0, s.errorf(f.at, "field %d has length %d, but only %d bytes follow", f.num, n, end-s.pos)
	}
	return s.pos + int64(n), nil
}

// group skips a group and returns where it ends. ONNX has no groups; a future field
// might be one.
func (s *scanner) group(f field, end int64) (int64, error) {
	open := []protowire.Number{f.num}
	for len(open) > 0 {
		at := s.pos
		tag, err := s.varint(end)
		if err != nil {
			return 0, err
		}
		num, typ := protowire.DecodeTag(tag)
		switch {
		case typ == protowire.EndGroupType && num == open[len(open)-1]:
			open = open[:len(open)-1]
		case typ == protowire.StartGroupType && len(open) < maxDepth:
			open = append(open, num)
		case typ == protowire.StartGroupType || typ == protowire.EndGroupType:
			return 0, s.errorf(at, "group %d is nested wrongly or more than %d deep", num, maxDepth)
		default:
			s.pos = at
			inner, err := s.next(end)
			if err != nil {
				return 0, err
			}
			s.pos = inner.end
		}
	}
	return s.pos, nil
}

func (s *scanner) varint(end int64) (uint64, error) {
	b, err := s.peek(int(min(10, end-s.pos)))
	if err != nil {
		return 0, err
	}
	v, n := protowire.ConsumeVarint(b)
	if n < 0 {
		if errors.Is(protowire.ParseError(n), io.ErrUnexpectedEOF) {
			return 0, s.errorf(s.pos, "cut off at %d", end)
		}
		return 0, s.errorf(s.pos, "invalid number")
	}
	s.pos += int64(n)
	return v, nil
}

// text reads a string payload. It reports false, with an empty text, if the string is
// longer than maxText.
func (s *scanner) text(f field) (string, bool, error) {
	n := f.end - s.pos
	if n > maxText {
		return "", false, nil
	}
	if err := s.keep(f, int(n)); err != nil {
		return "", false, err
	}
	out := make([]byte, 0, n)
	for s.pos < f.end {
		b, err := s.peek(int(min(windowSize, f.end-s.pos)))
		if err != nil {
			return "", false, err
		}
		out = append(out, b...)
		s.pos += int64(len(b))
	}
	return string(out), true, nil
}

// name is text for a field that is required.
func (s *scanner) name(f field, what string) (string, error) {
	text, ok, err := s.text(f)
	if err == nil && !ok {
		err = s.errorf(f.at, "%s is %d bytes long, at most %d are allowed", what, f.end-s.pos, maxText)
	}
	return text, err
}

// keep adds n bytes and the overhead of storing them to the memory kept for the file,
// and returns an error above maxKept.
func (s *scanner) keep(f field, n int) error {
	s.kept += n + 16
	if s.kept > maxKept {
		return s.errorf(f.at, "names, shapes and metadata up to here take more than %d MiB", maxKept>>20)
	}
	return nil
}

// peek returns the next n bytes. n is at most windowSize and not past the end of the
// file.
func (s *scanner) peek(n int) ([]byte, error) {
	from := s.pos - s.start
	if from < 0 || from+int64(n) > int64(len(s.window)) {
		size := min(windowSize, s.size-s.pos)
		s.window = s.window[:size]
		s.start, from = s.pos, 0
		got, err := s.r.ReadAt(s.window, s.pos)
		s.window = s.window[:got]
		if got < n {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // the file was truncated meanwhile
			}
			return nil, fmt.Errorf("offset %d: %w", s.pos, err)
		}
	}
	return s.window[from : from+int64(n)], nil
}

// errorf returns an error with an offset and the path of the message.
func (s *scanner) errorf(at int64, format string, args ...any) error {
	var where strings.Builder
	where.WriteString("model")
	for _, p := range s.path {
		where.WriteByte('.')
		where.WriteString(p.name)
		if p.index >= 0 {
			where.WriteString("[" + strconv.Itoa(p.index) + "]")
		}
	}
	return fmt.Errorf("offset %d, in %s: %s", at, where.String(), fmt.Sprintf(format, args...))
}
