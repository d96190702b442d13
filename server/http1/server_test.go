package http1_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/http1"
)

// run starts a Server; the test ends it.
func run(t *testing.T, svc *stub) (s *http1.Server, addr string, ended <-chan error) {
	t.Helper()
	s = http1.NewServer(svc, http1.Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	return s, l.Addr().String(), done
}

func get(t *testing.T, c net.Conn, in *bufio.Reader, path string) *http.Response {
	t.Helper()
	_, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	return reply(t, in)
}

func reply(t *testing.T, in *bufio.Reader) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	return resp
}

// TestShutdown: a request in flight is answered with "Connection: close", and idle connections are
// closed.
func TestShutdown(t *testing.T) {
	svc := newStub()
	running, finish := make(chan struct{}), make(chan struct{})
	svc.handle = func(*http1.Exchange) {
		close(running)
		<-finish
	}
	s, addr, ended := run(t, svc)
	idle, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer idle.Close()
	idleIn := bufio.NewReader(idle)
	require.Equal(t, 200, get(t, idle, idleIn, "/live").StatusCode)
	busy, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer busy.Close()
	body := payload
	_, err = fmt.Fprintf(busy, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", readPath, len(body), body)
	require.NoError(t, err)
	<-running
	require.EqualValues(t, 2, s.Connections())
	down := make(chan error, 1)
	go func() { down <- s.Shutdown(context.Background()) }()
	require.ErrorIs(t, <-ended, http.ErrServerClosed)
	close(finish)
	in := bufio.NewReader(busy)
	resp := reply(t, in)
	require.Equal(t, 200, resp.StatusCode)
	require.True(t, resp.Close)
	_, err = in.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	_, err = idleIn.ReadByte()
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, <-down)
	require.Zero(t, s.Connections())
}

// TestShutdownUnusual: a request that net/http serves is answered during a drain too.
func TestShutdownUnusual(t *testing.T) {
	svc := newStub()
	running, finish := make(chan struct{}), make(chan struct{})
	svc.handle = func(*http1.Exchange) {
		close(running)
		<-finish
	}
	s := http1.NewServer(svc, http1.Options{IdleGrace: 10 * time.Second})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	in := bufio.NewReader(c)
	require.Equal(t, 200, get(t, c, in, "/live").StatusCode)
	down := make(chan error, 1)
	go func() { down <- s.Shutdown(context.Background()) }()
	require.ErrorIs(t, <-ended, http.ErrServerClosed)
	body := payload
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", readPath, len(body), body)
	require.NoError(t, err)
	<-running
	select {
	case err := <-down:
		t.Fatalf("Shutdown has not waited: %v", err)
	default:
	}
	close(finish)
	resp := reply(t, in)
	require.Equal(t, 200, resp.StatusCode)
	require.True(t, resp.Close)
	require.NoError(t, <-down)
	require.Zero(t, s.Connections())
}

// TestShutdownGivesUp: when its context ends first, Close ends the rest.
func TestShutdownGivesUp(t *testing.T) {
	svc := newStub()
	running := make(chan struct{})
	svc.handle = func(x *http1.Exchange) {
		close(running)
		<-x.Context.Done()
	}
	s, addr, ended := run(t, svc)
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	body := payload
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", readPath, len(body), body)
	require.NoError(t, err)
	<-running
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, s.Shutdown(ctx), context.Canceled)
	require.NoError(t, s.Close())
	<-ended
	require.NoError(t, s.Shutdown(context.Background()))
}

// TestMove: an unusual request is handed to net/http with the bytes that were read, and the
// connection stays usable.
func TestMove(t *testing.T) {
	svc := newStub()
	s, addr, ended := run(t, svc)
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	body := payload
	pipeline := "GET /live HTTP/1.1\r\nHost: x\r\n\r\n" +
		fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", readPath, len(body), body) +
		fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", readPath, len(body), body)
	_, err = io.WriteString(c, pipeline)
	require.NoError(t, err)
	in := bufio.NewReader(c)
	for range 3 {
		require.Equal(t, 200, reply(t, in).StatusCode)
	}
	require.EqualValues(t, 1, s.Connections())
	long := "GET /live HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", 20000) + "\r\n\r\n"
	other, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer other.Close()
	_, err = io.WriteString(other, long)
	require.NoError(t, err)
	require.Equal(t, 200, reply(t, bufio.NewReader(other)).StatusCode)
	require.NoError(t, s.Shutdown(context.Background()))
	<-ended
	require.Zero(t, s.Connections())
}

// TestByteByByte: requests may arrive one byte at a time.
func TestByteByByte(t *testing.T) {
	svc := newStub()
	s, addr, ended := run(t, svc)
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	body := payload
	request := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", readPath, len(body), body)
	in := bufio.NewReader(c)
	for range 2 {
		for i := range len(request) {
			_, err := c.Write([]byte{request[i]})
			require.NoError(t, err)
		}
		require.Equal(t, 200, reply(t, in).StatusCode)
	}
	require.NoError(t, s.Shutdown(context.Background()))
	<-ended
}

// TestLongInference: a request longer than watchDelay is not cancelled, and the next request that
// arrives meanwhile is not lost.
func TestLongInference(t *testing.T) {
	svc := newStub()
	first := true
	svc.handle = func(x *http1.Exchange) {
		if first {
			first = false
			select {
			case <-x.Context.Done():
			case <-time.After(60 * time.Millisecond): // three times watchDelay
			}
		}
	}
	s, addr, ended := run(t, svc)
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer c.Close()
	body := payload
	request := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", readPath, len(body), body)
	_, err = io.WriteString(c, request+request)
	require.NoError(t, err)
	in := bufio.NewReader(c)
	require.Equal(t, 200, reply(t, in).StatusCode)
	require.Equal(t, 200, reply(t, in).StatusCode)
	require.NoError(t, s.Shutdown(context.Background()))
	<-ended
}
