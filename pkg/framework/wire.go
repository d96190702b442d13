package framework

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// eachField calls visit for the fields with a payload of a message of n bytes; n < 0: up to the
// end. visit reads or skips the payload.
func eachField(r *bufio.Reader, n int64, visit func(num protowire.Number, n int64) error) error {
	for n != 0 {
		c := &counted{r: r}
		tag, err := binary.ReadUvarint(c)
		if errors.Is(err, io.EOF) && c.n == 0 && n < 0 {
			return nil
		}
		if err != nil {
			return truncated(err)
		}
		num, kind := protowire.DecodeTag(tag)
		size := int64(0)
		switch kind {
		case protowire.VarintType:
			_, err = binary.ReadUvarint(c)
		case protowire.Fixed32Type:
			size = 4
		case protowire.Fixed64Type:
			size = 8
		case protowire.BytesType:
			var u uint64
			if u, err = binary.ReadUvarint(c); u > 1<<40 {
				err = fmt.Errorf("a message of %d bytes", u)
			}
			size = int64(u)
		default:
			err = fmt.Errorf("it is not a SavedModel: field %d has the wire type %d", num, kind)
		}
		if err != nil {
			return truncated(err)
		}
		if n >= 0 {
			if n -= c.n + size; n < 0 {
				return truncated(io.ErrUnexpectedEOF)
			}
		}
		if kind == protowire.BytesType {
			err = visit(num, size)
		} else {
			err = skip(r, size)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// counted counts the bytes that are read.
type counted struct {
	r io.ByteReader
	n int64
}

func (c *counted) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	return b, err
}

func skip(r *bufio.Reader, n int64) error {
	_, err := io.CopyN(io.Discard, r, n)
	return truncated(err)
}

// truncated replaces the error of a file that ends early.
func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it is not a SavedModel, or it is truncated")
	}
	return err
}

// eachBytes calls visit for the fields with a payload of a message.
func eachBytes(b []byte, visit func(num protowire.Number, v []byte) error) error {
	for len(b) > 0 {
		num, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, kind, b); n < 0 {
				return protowire.ParseError(n)
			}
			b = b[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := visit(num, v); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// varints returns the last value of each field of the type varint.
func varints(b []byte) (map[protowire.Number]uint64, error) {
	all := map[protowire.Number]uint64{}
	for len(b) > 0 {
		num, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
		if kind == protowire.VarintType {
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return nil, protowire.ParseError(n)
			}
			all[num] = v
		}
		if n = protowire.ConsumeFieldValue(num, kind, b); n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
	}
	return all, nil
}

// entry reads an entry of a map.
func entry(b []byte) (key string, value []byte, err error) {
	err = eachBytes(b, func(num protowire.Number, v []byte) error {
		switch num {
		case 1:
			key = string(v)
		case 2:
			value = v
		}
		return nil
	})
	return key, value, err
}
