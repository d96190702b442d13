package redis

import (
	"context"
	"errors"
	"time"

	"github.com/gomodule/redigo/redis"
)

// client keeps connections to one Redis server.
type client struct {
	pool  *redis.Pool
	slots chan struct{} // one for each connection in use
	wait  time.Duration // for a slot
}

func newClient(o *options) *client {
	dial := []redis.DialOption{
		redis.DialUsername(o.user), redis.DialPassword(o.password), redis.DialDatabase(o.db),
		// The context of a call ends it earlier: that of a lookup after o.timeout.
		redis.DialConnectTimeout(o.connect), redis.DialReadTimeout(insertTimeouts * o.timeout), redis.DialWriteTimeout(insertTimeouts * o.timeout),
		redis.DialUseTLS(o.tls != nil), redis.DialTLSConfig(o.tls), redis.DialTLSHandshakeTimeout(o.connect),
	}
	return &client{
		pool: &redis.Pool{MaxIdle: o.connections, DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", o.address, dial...)
		}, TestOnBorrowContext: alive},
		slots: make(chan struct{}, o.connections), wait: o.wait,
	}
}

// idleTime is how long a connection may be unused until it is tried before its next call.
const idleTime = time.Second

// alive reports whether an idle connection still works. Redis, or a proxy before it, may have closed it:
// without the check each such connection would fail a call and stop the calls for a while.
func alive(ctx context.Context, conn redis.Conn, lastUsed time.Time) error {
	if time.Since(lastUsed) < idleTime {
		return nil
	}
	_, err := redis.DoContext(conn, ctx, "PING")
	return err
}

var errConnections = errors.New("all connections are in use: raise pool_size or wait_timeout")

// do runs a command on a connection of its own.
func (c *client) do(ctx context.Context, command string, args ...any) (reply any, err error) {
	select {
	case c.slots <- struct{}{}:
	default:
		if err := c.waitSlot(ctx); err != nil {
			return nil, err
		}
	}
	defer func() { <-c.slots }()
	conn, err := c.pool.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return redis.DoContext(conn, ctx, command, args...)
}

func (c *client) waitSlot(ctx context.Context) error {
	t := time.NewTimer(c.wait)
	defer t.Stop()
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done(): // the time of the call is up, or its caller has left
	case <-t.C:
	}
	return errConnections
}
