package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

const outputJSON = `{"model_name":"null","model_version":"1","outputs":[{"name":"OUTPUT0","datatype":"INT32","shape":[1,16],"parameters":{"binary_data_size":64}}]}`

// http answers requests that have a Content-Length.
type http struct {
	head    []byte // a head that has not ended
	body    int    // bytes of the body to come
	pending bool   // the head was read, the response is owed
}

var httpResponse = []byte(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nInference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n%s%s",
	len(outputJSON), len(outputJSON)+64, outputJSON, strings.Repeat("\x00", 64)))

func newHTTP() protocol { return &http{} }

func (h *http) receive(in, out []byte) ([]byte, bool) {
	for len(in) > 0 || h.pending && h.body == 0 {
		if !h.pending {
			from := in
			if len(h.head) > 0 {
				h.head = append(h.head, in...)
				from = h.head
			}
			end := bytes.Index(from, []byte("\r\n\r\n"))
			if end < 0 {
				if len(h.head) == 0 {
					h.head = append(h.head, in...)
				}
				return out, len(h.head) < 1<<20
			}
			length, ok := contentLength(from[:end])
			if !ok {
				return out, false
			}
			in = in[len(in)-(len(from)-end-4):]
			h.head, h.body, h.pending = h.head[:0], length, true
		}
		n := min(h.body, len(in))
		in, h.body = in[n:], h.body-n
		if h.body > 0 {
			return out, true
		}
		out, h.pending = append(out, httpResponse...), false
	}
	return out, true
}

func contentLength(head []byte) (int, bool) {
	const name = "\r\nContent-Length: "
	i := bytes.Index(head, []byte(name))
	if i < 0 {
		return 0, false
	}
	value, _, _ := bytes.Cut(head[i+len(name):], []byte("\r\n"))
	n, err := strconv.Atoi(string(value))
	return n, err == nil && n >= 0
}

// http2 answers the calls of one connection without looking at their headers: each stream that
// the client ends is an inference.
type http2 struct {
	rest     []byte // a frame that is not complete
	preface  bool
	received uint32 // bytes of data since the last update of the window
}

func newHTTP2() protocol { return &http2{} }

const (
	frameData, frameHeaders, frameSettings, framePing, frameWindow = 0, 1, 4, 6, 8
	flagEndStream, flagAck, flagEndHeaders                         = 1, 1, 4
	prefaceText                                                    = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	window                                                         = 1<<31 - 1
)

func appendFrame(b []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	b = append(b, byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload)), kind, flags)
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

var (
	// Settings: 1000 streams, windows of 2^31-1 bytes; then the window of the connection.
	greeting = appendFrame(appendFrame(nil, frameSettings, 0, 0, []byte{0, 3, 0, 0, 3, 0xe8, 0, 4, 0x7f, 0xff, 0xff, 0xff}),
		frameWindow, 0, 0, binary.BigEndian.AppendUint32(nil, window-65535))
	// :status 200, content-type application/grpc
	headers = append([]byte{0x88, 0x0f, 0x10, 16}, "application/grpc"...)
	// grpc-status 0
	trailers = append(append([]byte{0x00, 11}, "grpc-status"...), 1, '0')
	message  = inferResponse()
)

// inferResponse returns a ModelInferResponse with the prefix of a gRPC message.
func inferResponse() []byte {
	field := func(b []byte, number int, content []byte) []byte {
		return append(append(b, byte(number<<3|2), byte(len(content))), content...)
	}
	output := field(nil, 1, []byte("OUTPUT0"))
	output = field(output, 2, []byte("INT32"))
	output = field(output, 3, []byte{1, 16})
	m := field(nil, 1, []byte("null"))
	m = field(m, 2, []byte("1"))
	m = field(m, 5, output)
	m = field(m, 6, make([]byte, 64))
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(m))), m...)
}

func (h *http2) receive(in, out []byte) ([]byte, bool) {
	if len(h.rest) > 0 {
		h.rest = append(h.rest, in...)
		in = h.rest
	}
	if !h.preface {
		if len(in) < len(prefaceText) {
			h.keep(in)
			return out, true
		}
		if !bytes.HasPrefix(in, []byte(prefaceText)) {
			return out, false
		}
		in, h.preface = in[len(prefaceText):], true
		out = append(out, greeting...)
	}
	for len(in) >= 9 {
		length := int(in[0])<<16 | int(in[1])<<8 | int(in[2])
		if len(in) < 9+length {
			break
		}
		out = h.frame(in[3], in[4], binary.BigEndian.Uint32(in[5:]), in[9:9+length], out)
		in = in[9+length:]
	}
	h.keep(in)
	return out, true
}

func (h *http2) keep(in []byte) { h.rest = append(h.rest[:0], in...) }

func (h *http2) frame(kind, flags byte, stream uint32, payload, out []byte) []byte {
	switch kind {
	case frameSettings:
		if flags&flagAck == 0 {
			out = appendFrame(out, frameSettings, flagAck, 0, nil)
		}
	case framePing:
		if flags&flagAck == 0 {
			out = appendFrame(out, framePing, flagAck, 0, payload)
		}
	case frameData, frameHeaders:
		if kind == frameData {
			if h.received += uint32(len(payload)); h.received > 1<<30 {
				out = appendFrame(out, frameWindow, 0, 0, binary.BigEndian.AppendUint32(nil, h.received))
				h.received = 0
			}
		}
		if flags&flagEndStream != 0 {
			out = appendFrame(out, frameHeaders, flagEndHeaders, stream, headers)
			out = appendFrame(out, frameData, 0, stream, message)
			out = appendFrame(out, frameHeaders, flagEndHeaders|flagEndStream, stream, trailers)
		}
	}
	return out
}
