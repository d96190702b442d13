package httpapi

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// pace is how fast a request's body must come: in each bodyTimeout at least so
// many bytes, or its end.
type pace struct{ least int64 }

func newPace(rate int64) pace {
	return pace{max(1, rate*int64(bodyTimeout/time.Second))}
}

// within is how many bytes must come in d.
func (p pace) within(d time.Duration) int64 { return max(1, p.least*int64(d)/int64(bodyTimeout)) }

// progress is how far a body has come in the current period. Its zero value is
// before the first.
type progress struct {
	until time.Time
	got   int64
}

// begin opens a period unless one is open. set is told when it ends.
func (p *progress) begin(set func(time.Time) error) {
	if p.until.IsZero() {
		p.until, p.got = time.Now().Add(bodyTimeout), 0
		_ = set(p.until)
	}
}

// add counts what came; enough of it ends the period.
func (p *progress) add(n int, least int64) {
	if p.got += int64(n); p.got >= least {
		p.until = time.Time{}
	}
}

// explain says of a read that took too long what was expected.
func (p pace) explain(err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	if p.least == 1 {
		return fmt.Errorf("nothing came for %v", bodyTimeout)
	}
	return fmt.Errorf("fewer than %d bytes came in %v", p.least, bodyTimeout)
}
