package offline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"syscall"
	"time"

	"triton/pkg/client"
	"triton/pkg/status"
)

// errGivenUp is why a request has no answer when the user has interrupted the run. Its rows are
// left to the next run.
var errGivenUp = errors.New("interrupted")

// send answers the rows of a batch.
func (p *pipeline) send(b *batch) {
	n := len(b.rows)
	resp, err := p.infer(b)
	switch {
	case err == nil:
		lines, err := p.model.lines(resp, n)
		if err != nil {
			p.failed(b, fmt.Errorf("the response cannot be used: %w", err))
			return
		}
		p.answered(n)
		for k, line := range lines {
			p.deliver(result{b.numbers[k], line, false, rowSize(b.rows[k])})
		}
	case p.ctx.Err() != nil || errors.Is(err, errGivenUp):
	case n > 1:
		// One row may be the cause: the halves find it, and the others are answered.
		h := n / 2
		p.send(&batch{b.rows[:h], b.numbers[:h]})
		p.send(&batch{b.rows[h:], b.numbers[h:]})
	default:
		p.failed(b, err)
	}
}

func (p *pipeline) failed(b *batch, err error) {
	for k := range b.rows {
		p.deliver(result{b.numbers[k], appendError(nil, err), true, rowSize(b.rows[k])})
	}
}

func rowSize(r rowValues) int64 { return int64(r.Size() + rowOverhead) }

// infer sends a request, again after transient failures. It ends the run if the model is not
// ready then: the failure is not that of the rows.
func (p *pipeline) infer(b *batch) (*client.Response, error) {
	req := p.model.request(b)
	for try := 0; ; try++ {
		resp, err := p.client.Infer(p.ctx, req)
		if err == nil || !transient(err) || p.ctx.Err() != nil {
			return resp, err
		}
		if errors.Is(p.reading.Err(), context.Canceled) {
			return nil, errGivenUp
		}
		if try == p.options.Retries {
			return nil, p.requestError(err)
		}
		p.state.retries.Add(1)
		if isOverload(err) {
			p.refused()
		}
		if !p.pause(try) {
			return nil, errGivenUp
		}
	}
}

// requestError returns the error of a request that failed each time. If the model is not ready either, it
// ends the run.
func (p *pipeline) requestError(err error) error {
	ctx, cancel := context.WithTimeout(p.ctx, readyTimeout)
	defer cancel()
	if ready, readyErr := p.client.ModelReady(ctx, p.options.Model, p.options.Version); ready && readyErr == nil {
		return err
	}
	if p.ctx.Err() == nil {
		p.fail(fmt.Errorf("the model is not ready after %d retries: %w", p.options.Retries, err))
	}
	return errGivenUp
}

const (
	readyTimeout = 10 * time.Second
	maxBackoff   = 5 * time.Second
)

// pause waits before a retry. It reports false if the run ends meanwhile.
func (p *pipeline) pause(try int) bool {
	wait := p.options.Backoff << min(try, 16)
	if wait > maxBackoff || wait <= 0 {
		wait = maxBackoff
	}
	// Requests that failed together do not come back together.
	t := time.NewTimer(wait/2 + rand.N(wait/2+1))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.reading.Done():
		return false
	}
}

// transient reports whether a request that failed may succeed later: the server or the model is
// not available, or the connection was lost.
func transient(err error) bool {
	var s *status.Error
	if errors.As(err, &s) {
		// The server had the model when the run began; it does not while it is reloaded.
		return s.Code == status.Unavailable || s.Code == status.NotFound
	}
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNREFUSED)
}

// isOverload reports whether the server refused a request because its queue is full.
func isOverload(err error) bool {
	return strings.Contains(err.Error(), "queue size") || strings.Contains(err.Error(), "overload")
}
