package http1_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/http1"
	"triton/server/http1/http1test"
)

// TestRefusedBodyIsNotAwaited: a refused request with a long body is answered before its body
// arrives, and its connection is closed.
func TestRefusedBodyIsNotAwaited(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *stub, c net.Conn) {
		began := time.Now()
		_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 2147483647\r\n\r\n", unknownPath)
		require.NoError(t, err)
		text, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Regexp(t, "^HTTP/1.1 404 Not Found\r\n", string(text))
		require.Contains(t, string(text), "\r\nConnection: close\r\n")
		require.Zero(t, time.Since(began))
	})
}

// TestRefusedChunksAreNotAwaited is the same for a body of unknown length, of which only maxSkipped
// bytes are read.
func TestRefusedChunksAreNotAwaited(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *stub, c net.Conn) {
		_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", unknownPath)
		require.NoError(t, err)
		done := make(chan int)
		go func() {
			sent := 0
			chunk := fmt.Sprintf("4000\r\n%s\r\n", strings.Repeat("x", 0x4000))
			for {
				n, err := io.WriteString(c, chunk)
				if sent += n; err != nil {
					done <- sent
					return
				}
			}
		}()
		text, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Regexp(t, "^HTTP/1.1 404 Not Found\r\n", string(text))
		require.Contains(t, string(text), "\r\nConnection: close\r\n")
		require.Less(t, <-done, 600<<10)
		time.Sleep(time.Second) // net/http takes a moment to close
	})
}

// TestRefusedBodyDoesNotReset: a client that sends a large body before it reads gets the reply and
// no reset.
func TestRefusedBodyDoesNotReset(t *testing.T) {
	t.Parallel()
	svc := newStub()
	addr := http1test.Start(t, http1.NewServer(svc, http1.Options{}))
	body := strings.Repeat("x", 8<<20)
	for name, framed := range map[string]string{
		"own":      fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body),
		"net/http": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body),
	} {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				reply := dial(t, addr, "POST "+unknownPath+" HTTP/1.1\r\nHost: x\r\n"+framed, false)
				require.Regexp(t, "^HTTP/1.1 404 Not Found\r\n", reply)
			}
		})
	}
}

// TestRefusedExpect: a client that waits for 100 Continue gets the refusal instead.
func TestRefusedExpect(t *testing.T) { http1test.Both(t, testRefusedExpect) }

func testRefusedExpect(t *testing.T, start http1test.Serving) {
	addr := start(t, newStub(), http1.Options{})
	for _, length := range []int{10, 1 << 30} {
		reply := dial(t, addr, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", unknownPath, length), false)
		require.Regexp(t, "^HTTP/1.1 404 Not Found\r\n", reply)
		require.Contains(t, reply, "\r\nConnection: close\r\n")
	}
}

// TestStalledBody: a body that stalls is given up after bodyTimeout, once.
func TestStalledBody(t *testing.T) {
	for transport, head := range map[string]string{
		"own":      "Content-Length: 1000\r\n\r\nx",
		"net/http": "Transfer-Encoding: chunked\r\n\r\n3e8\r\nx",
	} {
		t.Run(transport, func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ *stub, c net.Conn) {
				began := time.Now()
				_, err := io.WriteString(c, "POST "+readPath+" HTTP/1.1\r\nHost: x\r\n"+head)
				require.NoError(t, err)
				resp, err := http.ReadResponse(bufio.NewReader(c), nil)
				require.NoError(t, err)
				text, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				require.Equal(t, "no data arrived for 2m0s", string(text))
				require.Equal(t, 400, resp.StatusCode)
				require.True(t, resp.Close)
				require.Equal(t, 2*time.Minute, time.Since(began))
			})
		})
	}
}

// TestTrickledBody: a body slower than the minimum rate is given up; a faster one is read however
// long it takes.
func TestTrickledBody(t *testing.T) {
	for transport, chunked := range map[string]bool{"own": false, "net/http": true} {
		for _, fast := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, fast enough %v", transport, fast), func(t *testing.T) {
				t.Parallel()
				bubble(t, http1.Options{MinRate: 10}, func(t *testing.T, _ *stub, c net.Conn) {
					const pieces = 100
					piece := strings.Repeat(" ", 70) // in 10 seconds
					if fast {
						piece = strings.Repeat(" ", 130)
					}
					body := payload
					framed := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body)+pieces*len(piece), body)
					if chunked {
						framed = fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s", len(body)+pieces*len(piece), body)
						defer c.Close()
					}
					got := make(chan int, 1)
					began := time.Now()
					go func() { got <- reply(t, bufio.NewReader(c)).StatusCode }()
					_, err := io.WriteString(c, "POST "+readPath+" HTTP/1.1\r\nHost: x\r\n"+framed)
					require.NoError(t, err)
					for range pieces {
						time.Sleep(10 * time.Second)
						if _, err = io.WriteString(c, piece); err != nil {
							break
						}
					}
					if chunked && err == nil {
						_, err = io.WriteString(c, "\r\n0\r\n\r\n")
					}
					if fast {
						require.NoError(t, err)
						require.Equal(t, 200, <-got)
						return
					}
					require.Error(t, err)
					require.Equal(t, 400, <-got)
					require.LessOrEqual(t, time.Since(began), 10*time.Minute)
				})
			})
		}
	}
}

// halfPipe is the server's end of a pipe with a CloseWrite that does nothing.
type halfPipe struct{ net.Conn }

func (halfPipe) CloseWrite() error { return nil }

// TestRefusedUploadIsTaken: a client on a slow network may send all of its refused body before it
// reads the reply.
func TestRefusedUploadIsTaken(t *testing.T) {
	for transport, header := range map[string]string{"own": "", "net/http": "Upgrade: x\r\n"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				svc := newStub()
				s := http1.NewServer(svc, http1.Options{MinRate: 240})
				l := &pipes{make(chan net.Conn), make(chan struct{})}
				done := make(chan error, 1)
				go func() { done <- s.Serve(l) }()
				c, far := net.Pipe()
				l.ch <- halfPipe{far}
				got := make(chan int, 1)
				go func() { got <- reply(t, bufio.NewReader(c)).StatusCode }()
				piece := strings.Repeat(" ", 64<<10)
				const pieces = 600 // a minute
				_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n", unknownPath, header, pieces*len(piece))
				require.NoError(t, err)
				for i := range pieces {
					_, err = io.WriteString(c, piece)
					require.NoError(t, err, "piece %d", i)
					time.Sleep(100 * time.Millisecond)
				}
				require.Equal(t, 404, <-got)
				require.NoError(t, c.Close())
				require.NoError(t, s.Close())
				require.ErrorIs(t, <-done, http.ErrServerClosed)
				time.Sleep(time.Second) // net/http takes a moment to close
			})
		})
	}
}
