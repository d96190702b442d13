package http2

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"

	"triton/pkg/h2frame"
)

// The frames of a drain. The first GOAWAY has the largest number there is.
const (
	drainBegins = "GOAWAY 2147483647 NO_ERROR"
	drainPinged = "PING"
)

func drainAnswer() []byte { return h2frame.AppendPing(nil, http2.FlagPingAck, drainPing) }

// TestIdleConnectionEnds: after MaxConnectionIdle without a call a connection drains. A call that is open is work.
func TestIdleConnectionEnds(t *testing.T) {
	t.Parallel()
	o := Options{}
	o.Keepalive.MaxConnectionIdle = time.Minute
	for name, answers := range map[string]bool{"client answers": true, "client is silent": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubblePeer(t, o, handlers{"stream": hold, "m": give(1)}, func(t *testing.T, _ *Server, p *wirePeer) {
				began := time.Now()
				time.Sleep(30 * time.Second)
				p.send(begin(1, "stream"))
				time.Sleep(time.Hour)
				p.send(whole(3, "m"))
				p.expect("HEADERS 3", "DATA 3 6", "HEADERS 3 end")
				p.send(reset(1))
				p.expect(drainBegins, drainPinged)
				require.Equal(t, time.Hour+90*time.Second, time.Since(began))
				if answers {
					p.send(drainAnswer())
				} else {
					began = began.Add(drainTime)
				}
				p.expect("GOAWAY 3 NO_ERROR", "closed")
				require.Equal(t, time.Hour+90*time.Second, time.Since(began))
			})
		})
	}
}

// TestOldConnectionEnds: at MaxConnectionAge a connection drains, and ends MaxConnectionAgeGrace later at the latest.
func TestOldConnectionEnds(t *testing.T) {
	t.Parallel()
	o := Options{}
	o.Keepalive.MaxConnectionAge, o.Keepalive.MaxConnectionAgeGrace = 10*time.Minute, time.Minute
	for name, ends := range map[string]bool{"call ends": true, "call does not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubblePeer(t, o, handlers{"stream": hold, "m": give(1)}, func(t *testing.T, _ *Server, p *wirePeer) {
				began := time.Now()
				p.send(begin(1, "stream"))
				p.expect(drainBegins, drainPinged)
				aged := time.Now()
				require.InDelta(t, 10, aged.Sub(began).Minutes(), 1)
				p.send(whole(3, "m")) // the client does not know yet
				p.expect("HEADERS 3", "DATA 3 6", "HEADERS 3 end")
				p.send(drainAnswer())
				p.expect("GOAWAY 3 NO_ERROR")
				p.send(whole(5, "m"), begin(7, "stream"), list(7, true, [2]string{"a", "b"})) // refused without an answer
				p.expectNothing()
				if ends {
					p.send(reset(1))
				}
				p.expect("closed")
				if ends {
					require.Equal(t, aged, time.Now())
				} else {
					require.Equal(t, time.Minute, time.Since(aged))
				}
			})
		})
	}
}

// TestLastCallStays: a server that has named its last call names no later one, whatever else happens (RFC 9113, 6.8).
func TestLastCallStays(t *testing.T) {
	t.Parallel()
	onBoth(t, Options{}, handlers{"stream": hold}, func(_ *testing.T, s *Server, p *wirePeer) {
		p.send(begin(1, "stream"))
		p.expectNothing()
		go s.GracefulStop()
		p.expect(drainBegins, drainPinged)
		p.send(drainAnswer())
		p.expect("GOAWAY 1 NO_ERROR")
		p.send(begin(3, "stream"), update(0, 0))
		p.expect("GOAWAY 1 PROTOCOL_ERROR", "closed")
	})
}

// TestKeepAliveAnswered: a client that answers pings, or sends anything, keeps its connection.
func TestKeepAliveAnswered(t *testing.T) {
	t.Parallel()
	o := Options{}
	o.Keepalive.Time, o.Keepalive.Timeout = time.Minute, 10*time.Second
	inBubblePeer(t, o, handlers{"m": give(1)}, func(t *testing.T, _ *Server, p *wirePeer) {
		began := time.Now()
		for range 20_000 { // more than maxIdleFrames
			p.expect("PING")
			time.Sleep(9 * time.Second)
			p.send(h2frame.AppendPing(nil, http2.FlagPingAck, [8]byte{}))
		}
		require.Equal(t, 20_000*69*time.Second, time.Since(began))
		p.expect("PING", "closed")
	})
}

// TestPingsTooEarly: the third ping that comes too early ends the connection, with the code that clients of gRPC know.
func TestPingsTooEarly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		every time.Duration
		calls bool
		ends  bool
	}{
		"at once":                   {0, false, true},
		"without calls":             {6 * time.Minute, false, true},
		"with calls":                {6 * time.Minute, true, false},
		"with calls, but early":     {4 * time.Minute, true, true},
		"rarely":                    {permittedIdle, false, false},
		"not quite rarely":          {permittedIdle - 1, false, true},
		"with calls, after MinTime": {5 * time.Minute, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{}
			o.Keepalive.Time = time.Duration(math.MaxInt64)
			inBubblePeer(t, o, handlers{"stream": hold}, func(_ *testing.T, _ *Server, p *wirePeer) {
				if c.calls {
					p.send(begin(1, "stream"))
				}
				p.send(ping(0)) // the first is never early
				p.expect("PING ack")
				for range maxStrikes {
					time.Sleep(c.every)
					p.send(ping(0))
					p.expect("PING ack")
				}
				time.Sleep(c.every)
				p.send(ping(0))
				last := map[bool]string{true: "GOAWAY 1 ENHANCE_YOUR_CALM", false: "GOAWAY 0 ENHANCE_YOUR_CALM"}[c.calls]
				if c.ends {
					p.expect("PING ack", last, "closed")
				} else {
					p.expect("PING ack")
				}
			})
		})
	}
}

// TestFloods: frames that do nothing for a call end their connection, after as many as no client needs.
func TestFloods(t *testing.T) {
	t.Parallel()
	padded := append(h2frame.AppendHead(nil, 10, http2.FrameData, http2.FlagDataPadded, 1), 9, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	for name, frame := range map[string][]byte{
		"SETTINGS":                            settings(),
		"SETTINGS ack":                        h2frame.AppendHead(nil, 0, http2.FrameSettings, http2.FlagSettingsAck, 0),
		"PING ack":                            ping(http2.FlagPingAck),
		"drain's PING ack":                    drainAnswer(),
		"PRIORITY":                            append(h2frame.AppendHead(nil, 5, http2.FramePriority, 0, 1), 0, 0, 0, 0, 1),
		"PRIORITY of no call":                 append(h2frame.AppendHead(nil, 5, http2.FramePriority, 0, 99), 0, 0, 0, 0, 1),
		"RST_STREAM of an ended call":         reset(3),
		"WINDOW_UPDATE of an ended call":      update(3, 1),
		"WINDOW_UPDATE of an ended by 0":      update(3, 0),
		"DATA without bytes":                  data(1, nil, false),
		"DATA that is padding":                padded,
		"DATA of an ended call, no bytes":     data(3, nil, false),
		"unknown frame":                       append(h2frame.AppendHead(nil, 3, 0xbe, 0xff, 1), 1, 2, 3),
		"GOAWAY":                              h2frame.AppendGoAway(nil, 0, http2.ErrCodeNo, ""),
		"header list of a call that is reset": begin(3, "stream"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubblePeer(t, Options{}, handlers{"stream": hold, "m": give(1)}, func(t *testing.T, _ *Server, p *wirePeer) {
				ended := make(chan []string, 1)
				p.send(begin(1, "stream"), begin(3, "stream"), reset(3))
				flood := func(n int) (open bool) {
					for open = true; n > 0 && open; n -= 100 {
						var frames []byte
						for range min(n, 100) {
							frames = append(frames, frame...)
						}
						open = p.write(frames)
					}
					return open
				}
				go func() { ended <- p.untilClosed() }()
				require.True(t, flood(maxIdleFrames-1))
				require.True(t, p.write(whole(5, "m")), "a call in between makes up for it")
				require.True(t, flood(maxIdleFrames))
				synctest.Wait()
				require.Empty(t, ended)
				flood(1)
				last := <-ended
				require.Equal(t, "GOAWAY 5 ENHANCE_YOUR_CALM", last[len(last)-1])
			})
		})
	}
}

// TestStopLeavesHandlers: Stop ends the calls and returns, whatever their handlers do. GracefulStop waits for them.
func TestStopLeavesHandlers(t *testing.T) {
	t.Parallel()
	for name, graceful := range map[string]bool{"Stop": false, "GracefulStop": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var release chan struct{}
			var sent error
			stubborn := func(_ any, s grpc.ServerStream) error {
				<-release
				sent = s.SendMsg([]byte{1})
				return sent
			}
			inBubblePeer(t, Options{Workers: 1}, handlers{"stream": stubborn}, func(t *testing.T, s *Server, p *wirePeer) {
				release = make(chan struct{})
				p.send(begin(1, "stream"))
				stopped := make(chan struct{})
				go func() {
					defer close(stopped)
					if graceful {
						s.GracefulStop()
					} else {
						s.Stop()
					}
				}()
				if graceful {
					p.expect(drainBegins, drainPinged)
					p.send(drainAnswer())
					p.expect("GOAWAY 1 NO_ERROR")
					synctest.Wait()
					select {
					case <-stopped:
						t.Error("a handler runs")
					default:
					}
					close(release)
					p.expect("HEADERS 1", "DATA 1 6", "HEADERS 1 end", "RST_STREAM 1 NO_ERROR", "closed")
					<-stopped
					require.NoError(t, sent)
					return
				}
				p.expect("closed")
				<-stopped
				close(release)
				s.handlers.Wait()
				require.Error(t, sent)
			})
		})
	}
}

// TestGracefulStopWaitsForHandlers: also for those whose calls their clients have reset.
func TestGracefulStopWaitsForHandlers(t *testing.T) {
	t.Parallel()
	var release chan struct{}
	returned := false
	stubborn := func(any, grpc.ServerStream) error {
		<-release
		returned = true
		return nil
	}
	inBubblePeer(t, Options{}, handlers{"stream": stubborn}, func(t *testing.T, s *Server, p *wirePeer) {
		release = make(chan struct{})
		p.send(begin(1, "stream"), reset(1))
		stopped := make(chan struct{})
		go func() { defer close(stopped); s.GracefulStop() }()
		p.expect(drainBegins, drainPinged)
		p.send(drainAnswer())
		p.expect("GOAWAY 1 NO_ERROR", "closed")
		synctest.Wait()
		close(release)
		<-stopped
		require.True(t, returned)
	})
}

// TestStreamHandlerPanics: the call ends with a status, whoever runs its handler, and the connection goes on.
func TestStreamHandlerPanics(t *testing.T) {
	t.Parallel()
	defect := func(any, grpc.ServerStream) error { panic("a defect") }
	o := Options{Workers: 1, Stream: func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, h grpc.StreamHandler) error {
		if info.FullMethod == "/s/streamIntercepted" {
			panic("a defect")
		}
		return h(srv, s)
	}}
	onBoth(t, o, handlers{"stream": defect, "streamIntercepted": give(1), "m": defect, "good": give(1)}, func(_ *testing.T, _ *Server, p *wirePeer) {
		p.send(begin(1, "stream"))
		p.expect("HEADERS 1 end", "RST_STREAM 1 NO_ERROR")
		p.send(begin(3, "streamIntercepted"))
		p.expect("HEADERS 3 end", "RST_STREAM 3 NO_ERROR")
		p.send(begin(5, "m"))
		p.expect("HEADERS 5 end", "RST_STREAM 5 NO_ERROR")
		p.send(whole(7, "m"))
		p.expect("HEADERS 7 end")
		p.send(whole(9, "good"))
		p.expect("HEADERS 9", "DATA 9 6", "HEADERS 9 end")
	})
}
