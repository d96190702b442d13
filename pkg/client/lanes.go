package client

import (
	"context"
	"errors"
	"sync"

	"triton/pkg/kserve"
	"triton/pkg/status"
)

// lanes keeps idle Conns for single requests.
type lanes struct {
	mu struct {
		sync.Mutex
		idle   []Conn
		closed bool
	}
}

func (l *lanes) infer(ctx context.Context, c Client, req *kserve.Request, resp *kserve.Response) error {
	p, err := c.Prepare(req)
	if err != nil {
		return err
	}
	lane, err := l.take(ctx, c)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = lane.Close() })
	x := Exchange{Keep: true}
	err = lane.Do(ctx, p, &x)
	whole := stop()
	if err == nil {
		err = c.Decode(&x, resp)
	}
	var se *status.Error
	if whole && (err == nil || errors.As(err, &se)) {
		l.give(lane)
	} else {
		_ = lane.Close()
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (l *lanes) take(ctx context.Context, c Client) (Conn, error) {
	l.mu.Lock()
	if n := len(l.mu.idle); n > 0 {
		lane := l.mu.idle[n-1]
		l.mu.idle = l.mu.idle[:n-1]
		l.mu.Unlock()
		return lane, nil
	}
	l.mu.Unlock()
	return c.Dial(ctx)
}

func (l *lanes) give(lane Conn) {
	l.mu.Lock()
	closed := l.mu.closed
	if !closed {
		l.mu.idle = append(l.mu.idle, lane)
	}
	l.mu.Unlock()
	if closed {
		_ = lane.Close()
	}
}

func (l *lanes) close() error {
	l.mu.Lock()
	idle := l.mu.idle
	l.mu.idle, l.mu.closed = nil, true
	l.mu.Unlock()
	var err error
	for _, lane := range idle {
		err = errors.Join(err, lane.Close())
	}
	return err
}
