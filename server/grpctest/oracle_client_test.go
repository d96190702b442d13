package grpctest_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// seenStream is what the client received on one stream.
type seenStream struct {
	lines []string
	data  bytes.Buffer
}

// view is what the client received on one connection.
type view struct {
	mu      sync.Mutex
	streams map[uint32]*seenStream
	lines   []string // of the connection
}

// read reads frames until the connection ends.
func (v *view) read(c net.Conn) {
	f := http2.NewFramer(io.Discard, c)
	f.SetMaxReadFrameSize(1<<24 - 1)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	f.MaxHeaderListSize = 1 << 20
	for {
		got, err := f.ReadFrame()
		if err != nil {
			v.mu.Lock()
			defer v.mu.Unlock()
			var stream http2.StreamError
			if errors.As(err, &stream) {
				v.lines = append(v.lines, "the server's frames are wrong: "+err.Error())
			}
			v.lines = append(v.lines, "closed")
			_, _ = io.Copy(io.Discard, c)
			return
		}
		v.mu.Lock()
		v.add(got)
		v.mu.Unlock()
	}
}

func (v *view) stream(id uint32) *seenStream {
	if v.streams[id] == nil {
		v.streams[id] = &seenStream{}
	}
	return v.streams[id]
}

func (v *view) add(got http2.Frame) {
	switch f := got.(type) {
	case *http2.MetaHeadersFrame:
		s := v.stream(f.StreamID)
		fields := make([]string, 0, len(f.Fields))
		for _, h := range f.Fields {
			fields = append(fields, h.Name+": "+shorten(h.Value))
		}
		slices.Sort(fields)
		s.lines = append(s.lines, fmt.Sprintf("after %d bytes %q", s.data.Len(), fields))
		if f.StreamEnded() {
			s.lines = append(s.lines, "end")
		}
	case *http2.DataFrame:
		s := v.stream(f.StreamID)
		s.data.Write(f.Data())
		if f.StreamEnded() {
			s.lines = append(s.lines, "end with data")
		}
	case *http2.RSTStreamFrame:
		s := v.stream(f.StreamID)
		s.lines = append(s.lines, "reset "+f.ErrCode.String())
	case *http2.GoAwayFrame:
		v.lines = append(v.lines, fmt.Sprintf("GOAWAY %v, last stream %d", f.ErrCode, f.LastStreamID))
	case *http2.PingFrame:
		if f.IsAck() {
			v.lines = append(v.lines, fmt.Sprintf("PING ack %x", f.Data))
		}
	case *http2.SettingsFrame:
		if f.IsAck() {
			v.lines = append(v.lines, "SETTINGS ack")
		}
	}
}

// String lists what was received: first the connection's frames, then those of each stream.
func (v *view) String() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var b strings.Builder
	for _, l := range v.lines {
		fmt.Fprintln(&b, l)
	}
	for _, id := range slices.Sorted(maps.Keys(v.streams)) {
		s := v.streams[id]
		fmt.Fprintf(&b, "stream %d: %s\n", id, strings.Join(s.lines, "\n  "))
		for data := s.data.Bytes(); len(data) > 0; {
			if len(data) < 5 {
				fmt.Fprintf(&b, "  rest %x\n", data)
				break
			}
			n := min(int(binary.BigEndian.Uint32(data[1:]))+5, len(data))
			fmt.Fprintf(&b, "  message with flag %d of %d, here %s\n", data[0], binary.BigEndian.Uint32(data[1:]), brief(data[5:n]))
			data = data[n:]
		}
	}
	return b.String()
}

// outcome is what a script led to on one transport.
type outcome struct{ calls, client string }

// play sends a script to a transport, in the time of a bubble. After each frame that is not glued to the next one it
// waits until the server waits too, so that the outcome does not depend on the order of goroutines.
func play(t *testing.T, transport func() transport, s *script) (o outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		seen, got := &record{}, &view{streams: map[uint32]*seenStream{}}
		lis, srv := newPipeListener(), transport()
		srv.RegisterService(&oracleDesc, seen)
		served := make(chan struct{})
		go func() { defer close(served); _ = srv.Serve(lis) }()
		c := lis.Dial()
		reading := make(chan struct{})
		go func() { defer close(reading); got.read(c) }()
		if err := c.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		next := []byte(http2.ClientPreface)
		for _, f := range s.frames {
			next = append(next, f.bytes()...)
			if f.glued {
				continue
			}
			if _, err := c.Write(next); err != nil {
				break // the server has closed the connection
			}
			synctest.Wait()
			next = nil
		}
		if next != nil {
			_, _ = c.Write(next)
			synctest.Wait()
		}
		time.Sleep(2 * time.Second) // deadlines pass, and a connection is closed after its last GOAWAY
		synctest.Wait()
		o.client = got.String()
		c.Close()
		synctest.Wait()
		o.calls = seen.String()
		srv.Stop()
		<-served
		<-reading
	})
	return o
}
