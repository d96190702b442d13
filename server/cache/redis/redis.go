// Package redis stores responses in a Redis server, which several servers may share.
// Requests never depend on it: a lookup that is slow or fails is a miss, insertions are
// made in the background, and after a failure Redis is not called for a while.
package redis

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/cache"
	"triton/server/infer"
)

// Bounds of the queue of insertions.
const (
	maxWaiting = 1024
	maxBytes   = 64 << 20 // of all responses, and of one
	writers    = 2
	// insertTimeouts is how many times longer than a lookup an insertion may take: no request waits for it.
	insertTimeouts = 10
)

// Cache is a client of one Redis server.
type Cache struct {
	client  *client
	prefix  string
	timeout time.Duration // of one lookup
	connect time.Duration // timeout of Check
	breaker *cache.Breaker

	ttl   time.Duration // of a stored response; 0: unlimited
	queue chan item
	bytes atomic.Int64 // in the queue
}

type item struct {
	key   string
	value []byte
}

var _ cache.Cache = (*Cache)(nil)

// New returns a client. It starts nothing and does not connect: Check does, and Run
// writes the inserted responses.
func New(settings map[string]string, log *slog.Logger) (*Cache, error) {
	o, err := parse(settings)
	if err != nil {
		return nil, err
	}
	return &Cache{
		client: newClient(o), prefix: o.prefix, timeout: o.timeout, connect: o.connect, ttl: o.ttl,
		breaker: cache.NewBreaker(log, "Redis at "+o.address), queue: make(chan item, maxWaiting),
	}, nil
}

// Check connects and returns an error if Redis rejects the credentials. An unreachable
// Redis is not an error: the cache misses until it comes back.
func (c *Cache) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.connect)
	defer cancel()
	_, err := c.client.do(ctx, "PING")
	if rejected := redis.Error(""); errors.As(err, &rejected) && (strings.HasPrefix(rejected.Error(), "WRONGPASS") || strings.HasPrefix(rejected.Error(), "NOAUTH")) {
		return initError(rejected)
	}
	return nil
}

// Run writes inserted responses until ctx ends, and drops the responses that wait then.
// It is called once, before Close.
func (c *Cache) Run(ctx context.Context) {
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() { c.write(ctx) })
	}
	writing.Wait()
}

func (c *Cache) redisKey(k cache.Key) string { return c.prefix + string(k[:]) }

// Lookup reads from Redis, unless a call has failed recently.
func (c *Cache) Lookup(ctx context.Context, k cache.Key, into *infer.Response) bool {
	if !c.breaker.Allows() {
		return false
	}
	lookupCtx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	value, err := redis.Bytes(c.client.do(lookupCtx, "GET", c.redisKey(k)))
	switch {
	case errors.Is(err, redis.ErrNil):
		c.breaker.Succeed()
		return false
	case err != nil && ctx.Err() != nil: // the client has left
		return false
	case errors.Is(err, errConnections): // Redis was not asked
		c.breaker.Report("lookup", err)
		return false
	case err != nil:
		c.breaker.Fail("lookup", err)
		return false
	}
	c.breaker.Succeed()
	if err := cache.DecodeStored(tensor.HeapBuffer(value), into); err != nil {
		into.Reset()
		c.breaker.Report("lookup", err)
		return false
	}
	return true
}

// Insert queues a copy to be written. It does not know whether Redis has the key
// already.
func (c *Cache) Insert(k cache.Key, resp *infer.Response) error {
	n := int64(cache.StoredSize(resp))
	switch {
	case n > maxBytes:
		return status.New(status.Internal, "Requested byte_size: %d is greater than the largest response that is sent to Redis: %d", n, maxBytes)
	case c.breaker.Open():
		return nil // logged already
	case c.bytes.Add(n) > maxBytes:
		c.bytes.Add(-n)
		c.breaker.Report("insert", errBusy)
		return nil
	}
	select {
	case c.queue <- item{c.redisKey(k), cache.AppendStored(make([]byte, 0, n), resp)}:
	default:
		c.bytes.Add(-n)
		c.breaker.Report("insert", errBusy)
	}
	return nil
}

var errBusy = errors.New("too many responses wait to be written; some are not stored")

// write writes queued responses until ctx ends.
func (c *Cache) write(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case it := <-c.queue:
			c.set(ctx, it)
		}
	}
}

func (c *Cache) set(parent context.Context, it item) {
	defer c.bytes.Add(-int64(len(it.value)))
	if !c.breaker.Allows() {
		return
	}
	ctx, cancel := context.WithTimeout(parent, insertTimeouts*c.timeout)
	defer cancel()
	args := []any{it.key, it.value}
	if c.ttl > 0 {
		args = append(args, "PX", c.ttl.Milliseconds())
	}
	switch _, err := c.client.do(ctx, "SET", args...); {
	case err == nil:
		c.breaker.Succeed()
	case parent.Err() != nil:
	case errors.Is(err, errConnections):
		c.breaker.Report("insert", err)
	default:
		c.breaker.Fail("insert", err)
	}
}

// Close closes the connections. It is called after Run has returned.
func (c *Cache) Close() error { return c.client.pool.Close() }
