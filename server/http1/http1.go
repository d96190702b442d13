// Package http1 serves HTTP/1.1 connections: it reads requests, hands each to a Handler as an
// Exchange and writes the reply.
package http1

import (
	"log/slog"
	"sync"
	"time"

	"triton/pkg/log"
	"triton/server/connlimit"
)

// Handler answers requests. Serve is called once for each, on the goroutine of its connection,
// and answers with Exchange.Send, or with Exchange.Chunk and Exchange.Flush. When it returns
// without a complete reply the connection is closed. It must not keep the exchange.
type Handler interface{ Serve(x *Exchange) }

// HandlerFunc is a Handler that is a function.
type HandlerFunc func(x *Exchange)

// Serve calls f.
func (f HandlerFunc) Serve(x *Exchange) { f(x) }

// Options are the settings of a server.
type Options struct {
	// Log receives errors; nil discards them.
	Log *slog.Logger
	// IdleGrace is how long a server that shuts down waits on idle connections for requests that
	// were sent before the client could know, counted from the last request on any connection.
	// They are answered with "Connection: close". 0 stands for 250 ms.
	IdleGrace time.Duration
	// MinRate is how many bytes per second of a body must arrive on average in each period of
	// two minutes; 0: one byte in each period.
	MinRate int64
	// MaxConnections is how many connections are served at a time; others are answered with
	// 503. 0: no limit.
	MaxConnections int
	// Limit bounds the connections of all servers of the process; nil: none.
	Limit *connlimit.Limit
	// Reserved lets the connections use the reserve of Limit.
	Reserved bool
	// HTTP2 takes over the connections whose clients speak HTTP/2; nil: they are refused.
	HTTP2 func(HTTP2Conn)
}

const defaultIdleGrace = 250 * time.Millisecond

// The content types of most replies.
const (
	TextPlain   = "text/plain"
	JSON        = "application/json"
	OctetStream = "application/octet-stream"
	EventStream = "text/event-stream; charset=utf-8"
)

// core hands exchanges to the handler, whichever transport carries them.
type core struct {
	handler   Handler
	log       *slog.Logger
	pace      pace
	exchanges sync.Pool
}

func newCore(h Handler, o Options) *core {
	c := &core{handler: h, log: o.Log, pace: newPace(o.MinRate)}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.exchanges.New = func() any { return new(Exchange) }
	return c
}

// get returns an exchange whose reply is an empty 200. put takes it back, except after a
// panic of the handler.
func (c *core) get() *Exchange {
	x := c.exchanges.Get().(*Exchange)
	x.Status, x.ContentType, x.JSONSize = 200, TextPlain, -1
	return x
}

func (c *core) put(x *Exchange) {
	clear(x.Extra)
	clear(x.Tail)
	*x = Exchange{State: x.State, Text: reusable(x.Text), out: reusable(x.out), Extra: x.Extra[:0], Tail: x.Tail[:0]}
	c.exchanges.Put(x)
}

// maxReusable bounds the buffers that a pooled exchange keeps.
const maxReusable = 1 << 20

// reusable returns the storage of a buffer, or nil if it has grown too large to keep.
func reusable(b []byte) []byte {
	if cap(b) > maxReusable {
		return nil
	}
	return b[:0]
}

// panicked logs a panic of the handler. Only the connection of its request ends.
func (c *core) panicked(p any) {
	log.Panicked(c.log, "panic while serving HTTP", p)
}
