package http1

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// bodyTimeout is the period in which part of a body, or its end, must arrive.
const bodyTimeout = 2 * time.Minute

// pace is the minimum speed of request bodies: minBytes in each bodyTimeout.
type pace struct{ minBytes int64 }

// newPace returns the pace for a rate in bytes per second.
func newPace(rate int64) pace {
	return pace{max(1, rate*int64(bodyTimeout/time.Second))}
}

// within returns how many bytes must arrive in d.
func (p pace) within(d time.Duration) int64 { return max(1, p.minBytes*int64(d)/int64(bodyTimeout)) }

// progress is how much of a body has arrived in the current period. The zero value is before
// the first period.
type progress struct {
	until    time.Time
	received int64
}

// startPeriod starts a period unless one runs, and passes its end to set.
func (p *progress) startPeriod(set func(time.Time) error) {
	if p.until.IsZero() {
		p.until, p.received = time.Now().Add(bodyTimeout), 0
		_ = set(p.until)
	}
}

// add counts n bytes. The period ends when minBytes have arrived.
func (p *progress) add(n int, minBytes int64) {
	if p.received += int64(n); p.received >= minBytes {
		p.until = time.Time{}
	}
}

// explain replaces the error of an expired deadline by one that names the expected bytes.
func (p pace) explain(err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	if p.minBytes == 1 {
		return fmt.Errorf("no data arrived for %v", bodyTimeout)
	}
	return fmt.Errorf("fewer than %d bytes arrived in %v", p.minBytes, bodyTimeout)
}
