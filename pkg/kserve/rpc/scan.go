package rpc

import (
	"errors"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// errMalformed is for bytes that are not a protobuf message.
var errMalformed = errors.New("cannot parse invalid wire-format data")

// maxDepth bounds nested groups, as the protobuf library does.
const maxDepth = protowire.DefaultRecursionLimit

// scanner reads protobuf fields off a list of frames. No memory is allocated for a length
// before that many bytes are there.
type scanner struct {
	frames mem.BufferSlice
	frame  int    // the current frame
	data   []byte // its bytes
	pos    int    // number of its bytes that were read
	left   int    // unread bytes in all frames, or in the nested message that is being read
}

func (s *scanner) reset(frames mem.BufferSlice) {
	*s = scanner{frames: frames, left: frames.Len()}
	if len(frames) > 0 {
		s.data = frames[0].ReadOnlyData()
	}
}

// advance moves to the next frame with unread bytes, which must exist.
func (s *scanner) advance() {
	for s.pos == len(s.data) {
		s.frame++
		s.data, s.pos = s.frames[s.frame].ReadOnlyData(), 0
	}
}

func (s *scanner) uvarint() (uint64, error) {
	if b := s.data[s.pos:]; len(b) > 0 && s.left > 0 {
		if b[0] < 0x80 { // most tags and lengths
			s.pos++
			s.left--
			return uint64(b[0]), nil
		}
		if v, n := protowire.ConsumeVarint(b); n > 0 && n <= s.left {
			s.pos += n
			s.left -= n
			return v, nil
		}
	}
	return s.slowVarint()
}

// slowVarint reads a varint that continues in the next frame, is cut off by the end, or is
// malformed.
func (s *scanner) slowVarint() (uint64, error) {
	var b [10]byte
	for i := range b {
		if s.left == 0 {
			return 0, errMalformed
		}
		s.advance()
		b[i] = s.data[s.pos]
		s.pos++
		s.left--
		if b[i] < 0x80 {
			v, n := protowire.ConsumeVarint(b[:i+1])
			if n < 0 {
				return 0, errMalformed
			}
			return v, nil
		}
	}
	return 0, errMalformed
}

func (s *scanner) tag() (protowire.Number, protowire.Type, error) {
	v, err := s.uvarint()
	if err != nil {
		return 0, 0, err
	}
	num, typ := protowire.DecodeTag(v)
	if num < protowire.MinValidNumber {
		return 0, 0, errMalformed
	}
	return num, typ, nil
}

// length reads the length of a bytes field and checks that the bytes are there.
func (s *scanner) length() (int, error) {
	n, err := s.uvarint()
	if err != nil {
		return 0, err
	}
	if n > uint64(s.left) {
		return 0, errMalformed
	}
	return int(n), nil
}

// view reads n bytes, which must be there. The result is a view if they are in one frame, else a copy.
func (s *scanner) view(n int) []byte {
	if end := s.pos + n; end <= len(s.data) {
		b := s.data[s.pos:end:end]
		s.pos = end
		s.left -= n
		return b
	}
	b := make([]byte, n)
	s.copyTo(b)
	return b
}

// copyTo reads len(b) bytes, which must be there.
func (s *scanner) copyTo(b []byte) {
	for len(b) > 0 {
		s.advance()
		n := copy(b, s.data[s.pos:])
		b = b[n:]
		s.pos += n
		s.left -= n
	}
}

// span is a place in the frames.
type span struct{ frame, pos, n int }

// span skips a bytes field and returns its place.
func (s *scanner) span() (span, error) {
	n, err := s.length()
	if err != nil {
		return span{}, err
	}
	if n > 0 {
		s.advance()
	}
	at := span{s.frame, s.pos, n}
	s.discard(n)
	return at, nil
}

// seek goes back to a span and limits reading to its bytes.
func (s *scanner) seek(to span) {
	s.frame, s.pos, s.left = to.frame, to.pos, to.n
	s.data = s.frames[to.frame].ReadOnlyData()
}

func (s *scanner) discard(n int) {
	for n > 0 {
		s.advance()
		k := min(n, len(s.data)-s.pos)
		n -= k
		s.pos += k
		s.left -= k
	}
}

// skip skips the value of an unknown field.
func (s *scanner) skip(num protowire.Number, typ protowire.Type, depth int) error {
	n := 0
	var err error
	switch typ {
	case protowire.VarintType:
		_, err = s.uvarint()
	case protowire.Fixed32Type:
		n = 4
	case protowire.Fixed64Type:
		n = 8
	case protowire.BytesType:
		n, err = s.length()
	case protowire.StartGroupType:
		return s.skipGroup(num, depth)
	default:
		err = errMalformed
	}
	if err != nil || n > s.left {
		return errMalformed
	}
	s.discard(n)
	return nil
}

func (s *scanner) skipGroup(group protowire.Number, depth int) error {
	if depth < 0 {
		return errMalformed
	}
	for {
		num, typ, err := s.tag()
		if err != nil {
			return err
		}
		if typ == protowire.EndGroupType {
			if num != group {
				return errMalformed
			}
			return nil
		}
		if err := s.skip(num, typ, depth-1); err != nil {
			return err
		}
	}
}

// field is one field of a contiguous message.
type field struct {
	num protowire.Number
	typ protowire.Type
	v   uint64 // varint, fixed32 and fixed64
	b   []byte // bytes
}

// next removes the first field of a message. Groups and unknown wire types are skipped; v
// and b are empty then.
func next(msg []byte) (field, []byte, error) {
	num, typ, n := protowire.ConsumeTag(msg)
	if n < 0 || num > protowire.MaxValidNumber {
		return field{}, nil, errMalformed
	}
	f := field{num: num, typ: typ}
	msg = msg[n:]
	switch typ {
	case protowire.VarintType:
		f.v, n = protowire.ConsumeVarint(msg)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(msg)
		f.v = uint64(v)
	case protowire.Fixed64Type:
		f.v, n = protowire.ConsumeFixed64(msg)
	case protowire.BytesType:
		f.b, n = protowire.ConsumeBytes(msg)
	default:
		n = protowire.ConsumeFieldValue(num, typ, msg)
	}
	if n < 0 {
		return field{}, nil, errMalformed
	}
	return f, msg[n:], nil
}
