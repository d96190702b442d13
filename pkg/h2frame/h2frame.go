// Package h2frame writes the frames and header fields of HTTP/2 and reads the heads of frames, for both sides of a
// connection. It knows neither streams nor connections.
package h2frame

import (
	"encoding/binary"

	"golang.org/x/net/http2"
)

// Of HTTP/2, RFC 9113.
const (
	HeadLen       = 9     // in front of a frame
	SettingLen    = 6     // of one setting
	InitialWindow = 65535 // of a connection and its streams
	MaxWindow     = 1<<31 - 1
	InitialTable  = 4096     // bytes of a header table
	SmallestMax   = 16 << 10 // bytes of a frame that every peer takes
	LargestMax    = 1<<24 - 1
)

// Head is the head of a frame.
type Head struct {
	Len   int // of the payload
	Kind  http2.FrameType
	Flags http2.Flags
	ID    uint32 // of the stream; 0: the connection
}

// Has reports whether a flag is set.
func (h Head) Has(f http2.Flags) bool { return h.Flags&f != 0 }

// ReadHead returns the head at the beginning of b; false if it is not there as a whole.
func ReadHead(b []byte) (Head, bool) {
	if len(b) < HeadLen {
		return Head{}, false
	}
	return Head{
		int(b[0])<<16 | int(b[1])<<8 | int(b[2]), http2.FrameType(b[3]), http2.Flags(b[4]),
		binary.BigEndian.Uint32(b[5:]) & MaxWindow,
	}, true
}

// AppendHead appends the head of a frame.
func AppendHead(b []byte, length int, kind http2.FrameType, flags http2.Flags, id uint32) []byte {
	b = append(b, byte(length>>16), byte(length>>8), byte(length), byte(kind), byte(flags))
	return binary.BigEndian.AppendUint32(b, id)
}

// AppendSetting appends one setting of a SETTINGS frame.
func AppendSetting(b []byte, id http2.SettingID, value uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, uint16(id)), value)
}

// AppendWindowUpdate appends a WINDOW_UPDATE frame.
func AppendWindowUpdate(b []byte, id uint32, n int) []byte {
	return binary.BigEndian.AppendUint32(AppendHead(b, 4, http2.FrameWindowUpdate, 0, id), uint32(n))
}

// AppendReset appends a RST_STREAM frame.
func AppendReset(b []byte, id uint32, code http2.ErrCode) []byte {
	return binary.BigEndian.AppendUint32(AppendHead(b, 4, http2.FrameRSTStream, 0, id), uint32(code))
}

// AppendGoAway appends a GOAWAY frame.
func AppendGoAway(b []byte, last uint32, code http2.ErrCode, debug string) []byte {
	b = AppendHead(b, 8+len(debug), http2.FrameGoAway, 0, 0)
	b = binary.BigEndian.AppendUint32(b, last)
	b = binary.BigEndian.AppendUint32(b, uint32(code))
	return append(b, debug...)
}

// AppendPing appends a PING frame.
func AppendPing(b []byte, flags http2.Flags, data [8]byte) []byte {
	return append(AppendHead(b, len(data), http2.FramePing, flags, 0), data[:]...)
}

// AppendBlock appends the frames of an encoded header list, of at most maxFrame bytes each.
func AppendBlock(b, block []byte, id uint32, end bool, maxFrame int) []byte {
	kind, flags := http2.FrameHeaders, http2.Flags(0)
	if end {
		flags = http2.FlagHeadersEndStream
	}
	for {
		n := min(len(block), maxFrame)
		if n == len(block) {
			flags |= http2.FlagHeadersEndHeaders // the same bit as that of CONTINUATION
		}
		b = append(AppendHead(b, n, kind, flags, id), block[:n]...)
		if block = block[n:]; len(block) == 0 {
			return b
		}
		kind, flags = http2.FrameContinuation, 0
	}
}
