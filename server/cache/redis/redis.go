// Package redis keeps responses in a Redis server, which several servers may
// share. Requests never depend on it: a lookup that is slow or fails is a miss,
// insertions are made in the background, and after a failure Redis is left
// alone for a while.
package redis

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"triton/pkg/status"
	"triton/server/cache"
	"triton/server/infer"
)

// Bounds of what waits to be written.
const (
	maxWaiting = 1024
	maxBytes   = 64 << 20 // together; also of one response
	writers    = 2
)

// Cache is a client of one Redis server.
type Cache struct {
	client  *goredis.Client
	prefix  string
	timeout time.Duration
	breaker breaker

	queue   chan item
	bytes   atomic.Int64 // in the queue
	life    context.Context
	end     context.CancelFunc
	writing sync.WaitGroup
}

type item struct {
	key   string
	value []byte
}

var _ cache.Cache = (*Cache)(nil)

// New makes a client. A server that is not there yet, or not any more, is no
// reason not to serve; one that does not let us in is an error.
func New(settings map[string]string, log *slog.Logger) (*Cache, error) {
	o, err := parse(settings)
	if err != nil {
		return nil, err
	}
	goredis.SetLogger(mute{}) // what it says, its errors say too
	c := &Cache{
		client: goredis.NewClient(o.client), prefix: o.prefix, timeout: o.timeout,
		breaker: breaker{log: log, address: o.client.Addr}, queue: make(chan item, maxWaiting),
	}
	if err := c.enter(o.client.DialTimeout); err != nil {
		_ = c.client.Close()
		return nil, err
	}
	c.life, c.end = context.WithCancel(context.Background())
	for range writers {
		c.writing.Go(c.write)
	}
	return c, nil
}

// enter finds out whether our name and password, or none, are right.
func (c *Cache) enter(most time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	err := c.client.Ping(ctx).Err()
	if goredis.HasErrorPrefix(err, "WRONGPASS") || goredis.HasErrorPrefix(err, "NOAUTH") {
		return failed(err)
	}
	return nil
}

type mute struct{}

func (mute) Printf(context.Context, string, ...any) {}

func (c *Cache) name(k cache.Key) string { return c.prefix + string(k[:]) }

// Lookup asks Redis, unless that has failed a moment ago.
func (c *Cache) Lookup(ctx context.Context, k cache.Key, into *infer.Response) bool {
	if !c.breaker.allows() {
		return false
	}
	within, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	value, err := c.client.Get(within, c.name(k)).Bytes()
	switch {
	case errors.Is(err, goredis.Nil):
		c.breaker.works()
		return false
	case err != nil && ctx.Err() != nil: // it is the client who does not wait
		return false
	case err != nil:
		c.breaker.fails("lookup", err)
		return false
	}
	c.breaker.works()
	if err := decode(value, into); err != nil {
		into.Reset()
		c.breaker.report("lookup", err)
		return false
	}
	return true
}

// Insert hands a copy to the background. It cannot tell whether there is one
// already.
func (c *Cache) Insert(k cache.Key, resp *infer.Response) error {
	n := int64(size(resp))
	switch {
	case n > maxBytes:
		return status.New(status.Internal, "Requested byte_size: %d is greater than the largest response that is sent to Redis: %d", n, maxBytes)
	case c.breaker.isOpen():
		return nil // said already
	case c.bytes.Add(n) > maxBytes:
		c.bytes.Add(-n)
		c.breaker.report("insert", errBusy)
		return nil
	}
	select {
	case c.queue <- item{c.name(k), encode(resp)}:
	default:
		c.bytes.Add(-n)
		c.breaker.report("insert", errBusy)
	}
	return nil
}

var errBusy = errors.New("too many responses wait to be written; some are not kept")

// write writes what waits until the end.
func (c *Cache) write() {
	for {
		select {
		case <-c.life.Done():
			return
		case it := <-c.queue:
			c.set(it)
		}
	}
}

func (c *Cache) set(it item) {
	defer c.bytes.Add(-int64(len(it.value)))
	if !c.breaker.allows() {
		return
	}
	ctx, cancel := context.WithTimeout(c.life, 10*c.timeout) // nobody waits for it
	defer cancel()
	switch err := c.client.Set(ctx, it.key, it.value, 0).Err(); {
	case err == nil:
		c.breaker.works()
	case c.life.Err() == nil:
		c.breaker.fails("insert", err)
	}
}

// Close gives up what waits to be written, and the connections.
func (c *Cache) Close() error {
	c.end()
	c.writing.Wait()
	return c.client.Close()
}
