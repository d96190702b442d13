package child

import (
	"encoding/binary"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFrames(t *testing.T) {
	t.Parallel()
	a, b := net.Pipe()
	from, to := NewConn(a, a), NewConn(b, b)
	t.Cleanup(func() {
		require.NoError(t, from.Close())
		require.NoError(t, to.Close())
	})
	large := strings.Repeat("x", keepBody+1)
	sent := make(chan error, 1)
	go func() {
		var m Message
		for _, text := range []string{"", "text", large, "after"} {
			m.Begin(7).Uint8(1)
			m.Uint32(2)
			m.Uint64(1 << 40)
			m.String(text)
			m.Raw([]byte{9})
			if err := from.Send(&m); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for _, text := range []string{"", "text", large, "after"} {
		f, err := to.Receive()
		require.NoError(t, err)
		require.EqualValues(t, 7, f.Kind)
		r := NewReader(f.Body)
		require.EqualValues(t, 1, r.Uint8())
		require.EqualValues(t, 2, r.Uint32())
		require.EqualValues(t, 1<<40, r.Uint64())
		require.Equal(t, text, r.String())
		require.Equal(t, 1, r.Len())
		require.EqualValues(t, 9, r.Uint8())
		require.NoError(t, r.Err())
		require.Zero(t, r.Uint8())
		require.ErrorIs(t, r.Err(), ErrFrame)
	}
	require.NoError(t, <-sent)
	require.LessOrEqual(t, cap(to.body), keepBody, "the memory of a large body is kept")
}

// A length over the limit is an error before memory is allocated for the body.
func TestFramesTooLarge(t *testing.T) {
	t.Parallel()
	a, b := net.Pipe()
	to := NewConn(b, b)
	defer a.Close()
	defer to.Close()
	go func() {
		head := make([]byte, headerBytes)
		binary.LittleEndian.PutUint32(head, maxBody+1)
		a.Write(head)
	}()
	_, err := to.Receive()
	require.ErrorIs(t, err, ErrFrame)
	require.ErrorIs(t, NewConn(a, a).Send(&Message{}), ErrFrame)
}

func TestReaderEnds(t *testing.T) {
	t.Parallel()
	for _, body := range [][]byte{nil, {1}, {1, 0, 0, 0}, {255, 255, 255, 255, 1}} {
		r := NewReader(body)
		require.Empty(t, r.String())
		require.ErrorIs(t, r.Err(), ErrFrame)
		require.Zero(t, r.Uint64()+uint64(r.Uint32())+uint64(r.Uint8()))
		require.Nil(t, r.Next(0))
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	var got []string
	long := strings.Repeat("y", maxLine+10)
	readLines(strings.NewReader("one\n\r\ntwo\r\n"+long+"\nlast"), func(l string) { got = append(got, l) })
	require.Equal(t, []string{"one", "", "two", long[:maxLine], long[maxLine:], "last"}, got)
	var kept tail
	for _, l := range strings.Fields(strings.Repeat("a ", keepLines) + "b c") {
		kept.add(l)
	}
	require.Len(t, kept.lines(), keepLines)
	require.Equal(t, []string{"a", "b", "c"}, kept.lines()[keepLines-3:])
}
