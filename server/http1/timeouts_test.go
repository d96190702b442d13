package http1_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/connlimit"
	"triton/server/http1"
)

// pipes is a listener for unbuffered connections that use the bubble's clock.
type pipes struct {
	ch   chan net.Conn
	done chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.ch:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// inBubble serves over pipes and gives the test the client's end of one.
func inBubble(t *testing.T, test func(t *testing.T, svc *stub, c net.Conn)) {
	t.Parallel()
	bubble(t, http1.Options{}, test)
}

// bubble is inBubble with options.
func bubble(t *testing.T, o http1.Options, test func(t *testing.T, svc *stub, c net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		svc := newStub()
		s := http1.NewServer(svc, o)
		l := &pipes{make(chan net.Conn), make(chan struct{})}
		done := make(chan error, 1)
		go func() { done <- s.Serve(l) }()
		c, far := net.Pipe()
		l.ch <- far
		defer func() {
			c.Close()
			require.NoError(t, s.Close())
			require.ErrorIs(t, <-done, http.ErrServerClosed)
			synctest.Wait()
		}()
		test(t, svc, c)
	})
}

// TestSlowHead: a head may take headTimeout in total.
func TestSlowHead(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *stub, c net.Conn) {
		_, err := io.WriteString(c, "GET /live HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		reply, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		require.NoError(t, reply.Body.Close())
		time.Sleep(time.Hour) // idle connections may rest
		began := time.Now()
		for i := range 100 {
			if _, err := fmt.Fprintf(c, "%c", "GET /v2 HTTP/1.1\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"[i]); err != nil {
				break
			}
			time.Sleep(time.Second)
		}
		require.InDelta(t, 30, time.Since(began).Seconds(), 2)
	})
}

// TestSilence: a new connection must send something; an empty line is not enough.
func TestSilence(t *testing.T) {
	for _, first := range []string{"", "\r\n"} {
		t.Run(fmt.Sprintf("%q", first), func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ *stub, c net.Conn) {
				began := time.Now()
				if first != "" {
					_, err := io.WriteString(c, first)
					require.NoError(t, err)
				}
				text, err := io.ReadAll(c)
				require.NoError(t, err)
				require.Empty(t, text)
				require.Equal(t, 2*time.Minute, time.Since(began))
			})
		})
	}
}

// TestSlowBody: a body may arrive slowly but not stall.
func TestSlowBody(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *stub, c net.Conn) {
		began := time.Now()
		_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", readPath)
		require.NoError(t, err)
		for range 10 {
			time.Sleep(100 * time.Second)
			_, err = io.WriteString(c, "x")
			require.NoError(t, err)
		}
		text, _ := io.ReadAll(c)
		require.Contains(t, string(text), "HTTP/1.1 400 Bad Request")
		require.InDelta(t, 1000+120, time.Since(began).Seconds(), 125)
	})
}

// largeReply makes the server answer with 2 MiB, in chunks or as a whole.
func largeReply(t *testing.T, svc *stub, c net.Conn, chunked bool) int {
	t.Helper()
	const n = 2 << 20
	data := bytes.Repeat([]byte("a"), n)
	svc.handle = func(x *http1.Exchange) {
		if chunked {
			if x.Chunk(data) == nil {
				_ = x.Flush(true)
			}
			return
		}
		x.Tail = append(x.Tail, data)
	}
	_, err := io.WriteString(c, "POST /read HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
	require.NoError(t, err)
	return n
}

// TestReplyUnread: the server gives up when a client reads nothing for writeTimeout.
func TestReplyUnread(t *testing.T) {
	for _, chunked := range []bool{false, true} {
		t.Run(fmt.Sprintf("chunked %v", chunked), func(t *testing.T) {
			inBubble(t, func(t *testing.T, svc *stub, c net.Conn) {
				n := largeReply(t, svc, c, chunked)
				time.Sleep(3 * time.Minute)
				text, _ := io.ReadAll(c)
				require.Less(t, len(text), n)
			})
		})
	}
}

// TestReplySlow: a client that reads slowly gets the whole reply.
func TestReplySlow(t *testing.T) {
	for _, chunked := range []bool{false, true} {
		t.Run(fmt.Sprintf("chunked %v", chunked), func(t *testing.T) {
			inBubble(t, func(t *testing.T, svc *stub, c net.Conn) {
				pause := 20 * time.Second // four in each write step
				if chunked {
					pause = 80 * time.Second // for each push
				}
				n := largeReply(t, svc, c, chunked)
				began := time.Now()
				var text strings.Builder
				for {
					k, err := io.CopyN(&text, c, 64<<10)
					if k == 0 || err != nil {
						break
					}
					time.Sleep(pause)
				}
				require.Greater(t, text.Len(), n)
				require.Equal(t, chunked, strings.HasSuffix(text.String(), "\r\n0\r\n\r\n"))
				require.Greater(t, time.Since(began), 30*pause)
			})
		})
	}
}

// TestPipelinedUnseen: where only a read shows a disconnect, as over TLS, a request that the watch
// reads is not lost.
func TestPipelinedUnseen(t *testing.T) {
	inBubble(t, func(t *testing.T, svc *stub, c net.Conn) {
		finish := make(chan struct{})
		svc.handle = func(*http1.Exchange) {
			<-finish
		}
		in := bufio.NewReader(c)
		for _, body := range []string{payload, payload + strings.Repeat(" ", 50<<10)} {
			_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", readPath, len(body), body)
			require.NoError(t, err)
			// A pipe holds nothing: this write returns when the server has read it.
			_, err = io.WriteString(c, "GET /live HTTP/1.1\r\nHost: x\r\n\r\n")
			require.NoError(t, err)
			finish <- struct{}{}
			require.Equal(t, 200, reply(t, in).StatusCode)
			require.Equal(t, 200, reply(t, in).StatusCode)
		}
	})
}

// TestEmptyLinesBringNoRequest: a client that sends only empty lines does not delay a shutdown, and
// may send a request behind them.
func TestEmptyLinesBringNoRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		svc := newStub()
		s := http1.NewServer(svc, http1.Options{IdleGrace: time.Second})
		l := &pipes{make(chan net.Conn), make(chan struct{})}
		done := make(chan error, 1)
		go func() { done <- s.Serve(l) }()
		c, far := net.Pipe()
		defer c.Close()
		l.ch <- far
		for range 3 {
			_, err := io.WriteString(c, "\r\n")
			require.NoError(t, err)
		}
		require.Equal(t, 200, get(t, c, bufio.NewReader(c), "/live").StatusCode)
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			for {
				if _, err := io.WriteString(c, "\r\n"); err != nil {
					return
				}
				time.Sleep(300 * time.Millisecond)
			}
		}()
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, s.Shutdown(ctx))
		require.ErrorIs(t, <-done, http.ErrServerClosed)
		<-closed
	})
}

// TestLateIsCounted: connections that end because their clients do not send in time are counted.
func TestLateIsCounted(t *testing.T) {
	for name, sent := range map[string]string{
		"nothing": "\r\n",
		"head":    "GET /live HTTP/1.1\r\n",
		"body":    "POST " + readPath + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx",
		"chunks":  "POST " + readPath + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := connlimit.New(1)
			bubble(t, http1.Options{Limit: limit}, func(t *testing.T, _ *stub, c net.Conn) {
				_, err := io.WriteString(c, sent)
				require.NoError(t, err)
				_, err = io.Copy(io.Discard, c)
				require.NoError(t, err)
				require.Equal(t, uint64(1), limit.Late())
			})
		})
	}
}
