package http2

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"

	"triton/pkg/h2frame"
)

// TestIdleConnectionReleasesMemory: what a connection keeps for the next calls is gone when there are none for a while.
func TestIdleConnectionReleasesMemory(t *testing.T) {
	t.Parallel()
	inBubblePeer(t, Options{}, handlers{"m": give(10_000), "stream": hold}, func(t *testing.T, s *Server, p *wirePeer) {
		kept := func() int {
			c := s.connections()[0]
			c.mu.Lock()
			defer c.mu.Unlock()
			n := cap(c.out) + cap(c.spare) + cap(c.encoded) + cap(c.in.list.block) + cap(c.large.heads)
			for _, s := range c.free {
				n += cap(s.message)
			}
			return n
		}
		call := func(id uint32) {
			p.send(whole(id, "m"))
			for p.next() != describe(h2frame.Head{Kind: 1, Flags: 1, ID: id}, nil) { //nolint:revive // until it has ended
			}
			synctest.Wait()
		}
		call(1)
		require.Positive(t, kept())
		p.send(begin(3, "stream"))
		time.Sleep(10 * idleTime)
		require.Positive(t, kept(), "there is a call")
		p.send(reset(3))
		time.Sleep(2*idleTime + 1)
		synctest.Wait()
		require.Zero(t, kept())
		call(5)
		require.Positive(t, kept())
	})
}

// countedBuffers count those that are in use.
type countedBuffers struct {
	mem.BufferPool
	out atomic.Int64
}

func (b *countedBuffers) Get(n int) *[]byte { b.out.Add(1); return b.BufferPool.Get(n) }
func (b *countedBuffers) Put(p *[]byte)     { b.out.Add(-1); b.BufferPool.Put(p) }

// TestIdleConnectionHasNoBuffer: between calls a connection with TLS takes none.
func TestIdleConnectionHasNoBuffer(t *testing.T) {
	t.Parallel()
	pool := &countedBuffers{BufferPool: mem.DefaultBufferPool()}
	overTLS(t, Options{Buffers: pool}, handlers{"m": give(10)}, func(t *testing.T, _ *Server, p *wirePeer) {
		for i := range uint32(3) {
			id := 2*i + 1
			p.send(whole(id, "m"))
			for p.next() != describe(h2frame.Head{Kind: 1, Flags: 1, ID: id}, nil) { //nolint:revive // until it has ended
			}
			require.Eventually(t, func() bool { return pool.out.Load() == 0 }, time.Minute, time.Millisecond)
		}
	})
}
