package http2

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// noPingLimit lets a client ping at any time.
var noPingLimit = keepalive.EnforcementPolicy{MinTime: 1, PermitWithoutStream: true}

// queuedBytes returns how much waits for the sockets of a server. It does not wait for a connection that ends: the
// time of the bubble would stand still.
func queuedBytes(s *Server) (n int) {
	for _, c := range s.connections() {
		if c.mu.TryLock() {
			n += len(c.out) + len(c.rest)
			c.mu.Unlock()
		}
	}
	return n
}

// TestUnreadAnswers: a client that reads nothing may make the server hold maxControl and what one read brings. Then it
// loses its connection.
func TestUnreadAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		frames func(id uint32) []byte
		most   int // of what waits
	}{
		"pings":         {func(uint32) []byte { return ping(0) }, maxControl},
		"settings":      {func(uint32) []byte { return settings() }, maxControl},
		"responses":     {func(id uint32) []byte { return whole(id, "m") }, maxControl},
		"long messages": {func(id uint32) []byte { return whole(id, "long") }, maxControl},
		"refused calls": {func(id uint32) []byte { return begin(id, "stream") }, maxControl},
		"no calls":      {func(id uint32) []byte { return whole(id, "missing") }, maxControl},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{MaxStreams: 100, Enforcement: noPingLimit}
			inBubblePeer(t, o, handlers{"m": give(1000), "long": give(30_000), "stream": hold}, func(t *testing.T, s *Server, p *wirePeer) {
				most, closed := 0, false
				for id := uint32(1); id < 400_000 && !closed; {
					var frames []byte
					for len(frames) < 16<<10 {
						frames = append(frames, c.frames(id)...)
						id += 2
					}
					closed = !p.write(frames)
					synctest.Wait()
					most = max(most, queuedBytes(s))
				}
				require.True(t, closed)
				require.LessOrEqual(t, most, c.most+4*defaultBuffer)
				s.handlers.Wait() // all have ended
			})
		})
	}
}

// TestSlowReader: a client that reads slowly gets everything.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	const calls = 50
	onBoth(t, Options{}, handlers{"m": give(30_000)}, func(_ *testing.T, _ *Server, p *wirePeer) {
		p.send(initialWindow(1<<20), update(0, 10<<20))
		p.expect("SETTINGS ack")
		for i := range uint32(calls) {
			p.send(whole(2*i+1, "m"))
		}
		ended := 0
		for ended < calls {
			if text := p.next(); len(text) > 4 && text[len(text)-4:] == " end" {
				ended++
			}
		}
	})
}

// TestRapidReset: calls that are reset as they begin run as long as their handlers do, and no more than twice as many
// as the client may have open (CVE-2023-44487).
func TestRapidReset(t *testing.T) {
	t.Parallel()
	const open, calls = 10, 1000
	begun := make(chan struct{}, calls)
	var release chan struct{}
	wait := func(_ any, _ grpc.ServerStream) error {
		begun <- struct{}{}
		<-release
		return nil
	}
	inBubblePeer(t, Options{MaxStreams: open}, handlers{"stream": wait, "m": give(1)}, func(t *testing.T, _ *Server, p *wirePeer) {
		release = make(chan struct{})
		go func() {
			for i := range uint32(calls) {
				p.write(begin(2*i+1, "stream"), reset(2*i+1))
			}
		}()
		for i := range uint32(calls - 2*open) {
			p.expect(fmt.Sprintf("RST_STREAM %d REFUSED_STREAM", 2*(i+2*open)+1))
		}
		synctest.Wait()
		require.Len(t, begun, 2*open)
		close(release)
		synctest.Wait()
		p.send(whole(2*calls+1, "m"))
		p.expect("HEADERS 2001", "DATA 2001 6", "HEADERS 2001 end")
	})
}
