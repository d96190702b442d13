package nonblock

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pair is what is written and read.
type pair struct {
	from interface {
		io.ReadCloser
		SetReadDeadline(t time.Time) error
	}
	to interface {
		io.WriteCloser
		SetWriteDeadline(t time.Time) error
	}
}

func pairs(t testing.TB) map[string]pair {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer lis.Close()
	client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", lis.Addr().String())
	require.NoError(t, err)
	server, err := lis.Accept()
	require.NoError(t, err)
	all := map[string]pair{"pipe": {r, w}, "tcp": {client, server}}
	t.Cleanup(func() {
		for _, p := range all {
			_ = p.from.Close()
			_ = p.to.Close()
		}
	})
	return all
}

// Short and long messages arrive whole, also when the reader is slow, and then the end.
func TestReadWrite(t *testing.T) {
	t.Parallel()
	for name, p := range pairs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
			written := make(chan error, 1)
			go func() {
				out := New(p.to)
				for rest := sent; len(rest) > 0; {
					n, err := out.Write(rest[:min(len(rest), 3*len(sent)/4, 1+len(sent)-len(rest))])
					if err != nil {
						written <- err
						return
					}
					rest = rest[n:]
				}
				written <- p.to.Close()
			}()
			in := New(p.from)
			n, err := in.Read(nil)
			require.NoError(t, err)
			require.Zero(t, n)
			got, err := io.ReadAll(in)
			require.NoError(t, err)
			require.NoError(t, <-written)
			require.True(t, bytes.Equal(sent, got))
			n, err = in.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF)
			require.Zero(t, n)
		})
	}
}

// Calls that wait end with the deadline and when the connection is closed.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	for name, p := range pairs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, out := New(p.from), New(p.to)
			require.NoError(t, p.from.SetReadDeadline(time.Now().Add(time.Millisecond)))
			_, err := in.Read(make([]byte, 8))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			var late net.Error
			require.True(t, errors.As(err, &late) && late.Timeout())
			require.NoError(t, p.from.SetReadDeadline(time.Time{}))

			large := make([]byte, 64<<20) // more than the system keeps
			require.NoError(t, p.to.SetWriteDeadline(time.Now().Add(time.Millisecond)))
			n, err := out.Write(large)
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			require.Less(t, n, len(large))
			require.NoError(t, p.to.SetWriteDeadline(time.Time{}))
			_, err = io.CopyN(io.Discard, in, int64(n))
			require.NoError(t, err)

			ended := make(chan error, 1)
			go func() {
				_, err := in.Read(make([]byte, 8))
				ended <- err
			}()
			require.NoError(t, p.from.Close())
			require.Error(t, <-ended)
		})
	}
}

// A write to a reader that has left is an error of the system.
func TestBrokenPipe(t *testing.T) {
	t.Parallel()
	p := pairs(t)["pipe"]
	require.NoError(t, p.from.Close())
	n, err := New(p.to).Write([]byte("text"))
	require.ErrorIs(t, err, syscall.EPIPE)
	require.EqualError(t, err, "write: broken pipe")
	require.Zero(t, n)
}

func TestOtherConnections(t *testing.T) {
	t.Parallel()
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	require.Nil(t, New(a))
	require.Nil(t, New(nil))
}

// BenchmarkExchange is a short message to another goroutine and back.
func BenchmarkExchange(b *testing.B) {
	for _, quiet := range []bool{false, true} {
		b.Run(map[bool]string{false: "announced", true: "quiet"}[quiet], func(b *testing.B) {
			there, back := pairs(b)["pipe"], pairs(b)["pipe"]
			wrap := func(p pair) (io.Reader, io.Writer) {
				if quiet {
					return New(p.from), New(p.to)
				}
				return p.from, p.to
			}
			r1, w1 := wrap(there)
			r2, w2 := wrap(back)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				text := make([]byte, 4<<10)
				for {
					n, err := r1.Read(text)
					if err != nil {
						return
					}
					_, _ = w2.Write(text[:n])
				}
			}()
			text := make([]byte, 1<<10)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w1.Write(text); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(r2, text); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, there.to.Close())
			<-ended
		})
	}
}

// TestTryWrite: it takes what there is room for, and never waits.
func TestTryWrite(t *testing.T) {
	for name, p := range pairs(t) {
		t.Run(name, func(t *testing.T) {
			c := New(p.to)
			if c == nil {
				t.Skip("this system cannot")
			}
			sent, b := 0, make([]byte, 1<<20)
			for n := len(b); n == len(b); sent += n {
				var err error
				n, err = c.TryWrite(b)
				require.NoError(t, err)
			}
			n, err := io.CopyN(io.Discard, p.from, int64(sent))
			require.NoError(t, err)
			require.EqualValues(t, sent, n)
			require.NoError(t, p.to.Close())
			_, err = c.TryWrite(b)
			require.Error(t, err)
		})
	}
}
