package http2

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"triton/pkg/nonblock"
	"triton/server/http1"
)

// callContext is the context of a call. It is the call itself, so that it costs nothing. Like everything of a call
// it must not be used when the handler has returned.
type callContext stream

var _ context.Context = (*callContext)(nil)

// Deadline implements context.Context.
func (x *callContext) Deadline() (time.Time, bool) { return x.deadline, x.head.timed }

// Done implements context.Context.
func (x *callContext) Done() <-chan struct{} {
	x.conn.mu.Lock()
	defer x.conn.mu.Unlock()
	if x.done == nil {
		x.done = make(chan struct{})
		if x.over {
			close(x.done)
		}
	}
	return x.done
}

// Err implements context.Context.
func (x *callContext) Err() error {
	x.conn.mu.Lock()
	defer x.conn.mu.Unlock()
	if x.over && x.err == nil { // after its status
		return errCanceled
	}
	return x.err
}

// AfterFunc calls f on its own goroutine when the context has ended, unless stop is called before. Package context
// looks for a method of this name and type.
func (x *callContext) AfterFunc(f func()) (stop func() bool) {
	x.conn.mu.Lock()
	defer x.conn.mu.Unlock()
	if x.over {
		go f()
		return func() bool { return false }
	}
	if x.afterEnd == nil {
		x.afterEnd = map[*func()]struct{}{}
	}
	x.afterEnd[&f] = struct{}{}
	return func() bool {
		x.conn.mu.Lock()
		defer x.conn.mu.Unlock()
		_, waits := x.afterEnd[&f]
		delete(x.afterEnd, &f)
		return waits
	}
}

// The keys under which packages of gRPC look for what belongs to a call. They are of types that those packages do
// not export, so each is learned by looking.
var (
	metadataKey = keyOf(func(ctx context.Context) { metadata.FromIncomingContext(ctx) })
	peerKey     = keyOf(func(ctx context.Context) { peer.FromContext(ctx) })
	streamKey   = keyOf(func(ctx context.Context) { grpc.ServerTransportStreamFromContext(ctx) })
)

type keyProbe struct {
	context.Context
	key any
}

func (p *keyProbe) Value(key any) any {
	p.key = key
	return nil
}

func keyOf(look func(context.Context)) any {
	p := &keyProbe{Context: context.Background()}
	look(p)
	return p.key
}

// Value implements context.Context.
func (x *callContext) Value(key any) any {
	switch key {
	case metadataKey:
		return x.head.md
	case peerKey:
		return &x.conn.peer
	case streamKey:
		return (*transportStream)(x)
	case http1.ConnKey:
		return x.conn.raw
	case nonblock.WaitKey:
		return (*turnHook)(x)
	}
	return nil
}
