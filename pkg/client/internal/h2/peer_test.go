package h2

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"triton/pkg/h2frame"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var epoch = time.Now()

func now() int64 { return int64(time.Since(epoch)) }

// peer is the server's end of a connection, which the test plays frame by frame.
type peer struct {
	t *testing.T
	*http2.Framer
	conn net.Conn
	head bytes.Buffer
	enc  *hpack.Encoder
	dec  *hpack.Decoder
}

// play starts a server that accepts connections and plays each with script, one after the other.
func play(t *testing.T, script func(p *peer)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var wg sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = conn.Close() }()
				p := &peer{t: t, Framer: http2.NewFramer(conn, conn), conn: conn}
				p.enc, p.dec = hpack.NewEncoder(&p.head), hpack.NewDecoder(h2frame.InitialTable, nil)
				preface := make([]byte, len(http2.ClientPreface))
				if _, err := io.ReadFull(conn, preface); err == nil && string(preface) == http2.ClientPreface {
					script(p)
				}
			})
		}
	})
	return l.Addr().String()
}

// next returns the next frame that is not of the connection; nil: there is none.
func (p *peer) next() http2.Frame {
	for {
		f, err := p.ReadFrame()
		if err != nil {
			return nil
		}
		if f.Header().StreamID != 0 {
			return f
		}
	}
}

// fields decodes the header list of a call.
func (p *peer) fields(f http2.Frame) map[string]string {
	m := map[string]string{}
	list, err := p.dec.DecodeFull(f.(*http2.HeadersFrame).HeaderBlockFragment()) //nolint:forcetypeassert // a test
	if err != nil {
		m["error"] = err.Error()
	}
	for _, h := range list {
		m[h.Name] = h.Value
	}
	return m
}

// request reads a whole request and returns its call.
func (p *peer) request() uint32 {
	for {
		f := p.next()
		if f == nil {
			return 0
		}
		switch f := f.(type) {
		case *http2.HeadersFrame:
			p.fields(f)
		case *http2.DataFrame:
			if f.StreamEnded() {
				return f.StreamID
			}
		}
	}
}

func (p *peer) headers(id uint32, end bool, fields ...string) {
	p.head.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = p.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.head.Bytes(), EndStream: end, EndHeaders: true})
}

func (p *peer) begin(id uint32) {
	p.headers(id, false, ":status", "200", "content-type", "application/grpc")
}

func (p *peer) answer(id uint32, message string) {
	p.begin(id)
	_ = p.WriteData(id, false, framed(message))
	p.headers(id, true, "grpc-status", "0", "grpc-message", "")
}

// wait reads until the client closes the connection.
func (p *peer) wait() {
	for {
		if _, err := p.ReadFrame(); err != nil {
			return
		}
	}
}

func framed(message string) []byte {
	return append([]byte{0, 0, 0, byte(len(message) >> 8), byte(len(message))}, message...)
}

func open(t *testing.T, address string) *Conn {
	t.Helper()
	c, err := tryOpen(t, address)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func tryOpen(t *testing.T, address string) (*Conn, error) {
	t.Helper()
	return Open(t.Context(), func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", address)
	}, now)
}

var testHead = NewHead([]Field{
	{":method", "POST"}, {":scheme", "http"}, {":path", "/s/m"}, {":authority", "h"}, {"content-type", "application/grpc"}, {"te", "trailers"},
})

// unary makes a call and returns its response.
func unary(conn *Conn, c *Call, message string) (string, error) {
	if err := c.Start(conn, &Request{Head: testHead}, Outgoing{Parts: [][]byte{[]byte(message)}, Last: true}); err != nil {
		return "", err
	}
	for !c.Pump() {
		c.Wait()
	}
	for !c.Ended() {
		c.Wait()
	}
	if c.Err() != nil {
		return "", c.Err()
	}
	var in Inbox
	c.Take(&in)
	return string(in.Data), nil
}
