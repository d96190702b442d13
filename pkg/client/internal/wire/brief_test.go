package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pair returns both ends of a TCP connection.
func pair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	client, err = net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	server, err = l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return Brief(client), server
}

// TestBrief: a connection with short system calls carries the same bytes, also messages that do
// not fit into the buffers of the system.
func TestBrief(t *testing.T) {
	t.Parallel()
	c, s := pair(t)
	echoed := make(chan error, 1)
	go func() {
		_, err := io.Copy(s, s)
		echoed <- err
	}()
	for _, n := range []int{1, 1000, 64<<10 - 1, 64 << 10, 64<<10 + 1, 5 << 20} {
		sent := bytes.Repeat([]byte("0123456789abcdef"), n/16+1)[:n]
		written := make(chan error, 1)
		go func() {
			_, err := c.Write(sent)
			written <- err
		}()
		got := make([]byte, n)
		_, err := io.ReadFull(c, got)
		require.NoError(t, err)
		require.NoError(t, <-written)
		require.True(t, bytes.Equal(sent, got), n)
	}
	parts := net.Buffers{[]byte("a"), nil, []byte("bc")}
	require.NoError(t, WriteBuffers(c, &parts))
	got := make([]byte, 3)
	_, err := io.ReadFull(c, got)
	require.NoError(t, err)
	require.Equal(t, "abc", string(got))
	n, err := c.Read(nil)
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = c.Write(nil)
	require.NoError(t, err)
	require.Zero(t, n)
	require.NoError(t, c.Close())
	require.NoError(t, <-echoed)
}

// TestBriefEnds: errors are those of a plain connection.
func TestBriefEnds(t *testing.T) {
	t.Parallel()
	b := make([]byte, 1)

	c, s := pair(t)
	require.NoError(t, c.SetReadDeadline(time.Unix(1, 0)))
	_, err := c.Read(b)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.ErrorContains(t, err, "read tcp ")
	require.NotContains(t, err.Error(), "raw-read")
	require.NoError(t, c.SetReadDeadline(time.Time{}))
	require.NoError(t, s.Close())
	_, err = c.Read(b)
	require.ErrorIs(t, err, io.EOF)
	_, err = c.Write(b) // the first one is answered with a reset
	for err == nil {
		_, err = c.Write(b)
	}
	require.True(t, errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET), err)

	c, _ = pair(t)
	ended := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		ended <- err
	}()
	require.NoError(t, c.Close())
	require.ErrorIs(t, <-ended, net.ErrClosed)
	_, err = c.Write(b)
	require.ErrorIs(t, err, net.ErrClosed)
	require.NotContains(t, err.Error(), "raw-write")
}

// TestBriefOrder: with the race detector on, what happened before a message was sent happened before
// it was received, in a program that has both ends.
func TestBriefOrder(t *testing.T) {
	t.Parallel()
	c, s := pair(t)
	asked, answered := 0, 0
	ended := make(chan error, 1)
	go func() {
		b := make([]byte, 1)
		for i := range 100 {
			if _, err := s.Read(b); err != nil || asked != i+1 {
				ended <- fmt.Errorf("%d of %d: %w", asked, i+1, err)
				return
			}
			answered = asked
			if _, err := s.Write(b); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	b := make([]byte, 1)
	for i := range 100 {
		asked = i + 1
		_, err := c.Write(b)
		require.NoError(t, err)
		_, err = c.Read(b)
		require.NoError(t, err)
		require.Equal(t, asked, answered)
	}
	require.NoError(t, <-ended)
}
