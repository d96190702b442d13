package http2

import (
	"bytes"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"

	"triton/pkg/h2frame"
)

// list returns a header list with any fields.
func list(id uint32, end bool, fields ...[2]string) []byte {
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, f := range fields {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: true}) // leaves the table as it is
	}
	return h2frame.AppendBlock(nil, block.Bytes(), id, end, h2frame.SmallestMax)
}

// TestMalformedLists: a list that RFC 9113 calls malformed (8.1.1) resets its call, whether it begins a handler with
// grpc-go or not.
func TestMalformedLists(t *testing.T) {
	t.Parallel()
	method, scheme, path, authority := [2]string{":method", "POST"}, [2]string{":scheme", "http"}, [2]string{":path", "/s/m"}, [2]string{":authority", "a"}
	kind := [2]string{"content-type", contentType}
	for name, fields := range map[string][][2]string{
		"no :method":        {scheme, path, authority, kind},
		"no :scheme":        {method, path, authority, kind},
		"no :path":          {method, scheme, authority, kind},
		"empty :path":       {method, scheme, {":path", ""}, authority, kind},
		"two :path":         {method, scheme, path, path, authority, kind},
		"unknown pseudo":    {method, scheme, path, authority, {":status", "200"}, kind},
		"pseudo behind":     {method, scheme, path, kind, authority},
		"upper case":        {method, scheme, path, authority, kind, {"A", "b"}},
		"no name":           {method, scheme, path, authority, kind, {"", "b"}},
		"control character": {method, scheme, path, authority, kind, {"a", "b\x00"}},
		"te":                {method, scheme, path, authority, kind, {"te", "trailers, deflate"}},
		"connection":        {method, scheme, path, authority, kind, {"connection", "close"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			called := func(any, grpc.ServerStream) error { t.Error("a handler was called"); return nil }
			inBubblePeer(t, Options{}, handlers{"m": called}, func(_ *testing.T, _ *Server, p *wirePeer) {
				p.send(list(1, true, fields...))
				p.expect("RST_STREAM 1 PROTOCOL_ERROR")
				p.send(list(2, true, fields...)) // a number of the server
				p.expect("GOAWAY 1 PROTOCOL_ERROR", "closed")
			})
		})
	}
}

// TestListsOfEndedCalls: who ended a call decides what a second header list means (RFC 9113, 5.1).
func TestListsOfEndedCalls(t *testing.T) {
	t.Parallel()
	refused := func(any, grpc.ServerStream) error { return errHeaderList }
	again := func(end bool) []byte {
		b := begin(1, "streamRefused")
		if end {
			b[4] |= byte(http2.FlagHeadersEndStream)
		}
		return b
	}
	type step struct {
		frames []byte
		want   []string
	}
	answered := step{begin(1, "streamRefused"), []string{"HEADERS 1 end", "RST_STREAM 1 NO_ERROR"}}
	ignored := step{ping(0), []string{"PING ack"}}
	for name, steps := range map[string][]step{
		"the server, and the client ends it":  {answered, {again(true), nil}, ignored},
		"the server, and the client does not": {answered, {again(false), []string{"GOAWAY 1 PROTOCOL_ERROR", "closed"}}},
		"both": {
			{whole(1, "m"), []string{"HEADERS 1", "DATA 1 6", "HEADERS 1 end"}},
			{again(true), []string{"GOAWAY 1 STREAM_CLOSED", "closed"}},
		},
		"the client, by a reset": {
			{append(begin(1, "stream"), reset(1)...), nil}, {again(true), []string{"RST_STREAM 1 STREAM_CLOSED"}}, ignored,
		},
		"nobody: trailers": {
			{append(begin(1, "m"), data(1, make([]byte, prefixLen), false)...), nil},
			{list(1, true, [2]string{"a", "b"}), []string{"HEADERS 1", "DATA 1 6", "HEADERS 1 end"}},
			ignored,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubblePeer(t, Options{}, handlers{"streamRefused": refused, "stream": hold, "m": give(1)}, func(_ *testing.T, _ *Server, p *wirePeer) {
				for _, s := range steps {
					p.send(s.frames)
					p.expect(s.want...)
				}
			})
		})
	}
}
