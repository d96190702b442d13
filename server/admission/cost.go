package admission

import (
	"math"
	"time"
)

// cost is what executions were seen to take: a time for each batch and one for
// each row, as the straight line through the recent ones.
type cost struct {
	seen float64 // executions, in all
	// Weighted sums over executions, of which older ones count less.
	w, x, y, xx, xy, yy float64
}

const (
	forget = 0.98 // how much less each execution counts once there is another
	enough = 8    // executions from which something is known
	// spread is the variance of the rows, in squares of their mean, from which the
	// slope of the line means something.
	spread = 0.01
)

func (c *cost) add(rows int, took time.Duration) {
	x, y := float64(rows), float64(took)
	c.seen++
	c.w = forget*c.w + 1
	c.x, c.y = forget*c.x+x, forget*c.y+y
	c.xx, c.xy, c.yy = forget*c.xx+x*x, forget*c.xy+x*y, forget*c.yy+y*y
}

// line is the time of a batch and of each of its rows. False when all batches
// were of about the same size, so that the two cannot be told apart.
func (c *cost) line() (batch, row float64, ok bool) {
	x, y := c.x/c.w, c.y/c.w
	vx := c.xx/c.w - x*x
	if vx < spread*x*x {
		return 0, 0, false
	}
	row = (c.xy/c.w - x*y) / vx
	batch = y - row*x
	switch {
	case row < 0:
		return y, 0, true
	case batch < 0:
		return 0, y / x, true
	}
	return batch, row, true
}

// of is how long a batch of that many rows takes. Where batches were all of one
// size a larger one is taken to need no more, a smaller one its share.
func (c *cost) of(rows float64) time.Duration {
	if batch, row, ok := c.line(); ok {
		return time.Duration(batch + row*rows)
	}
	return time.Duration(c.y / c.w * min(1, rows*c.w/c.x))
}

// usual is the rows of batches, lately.
func (c *cost) usual() float64 { return c.x / c.w }

// noise is the standard deviation of the times from the line.
func (c *cost) noise() time.Duration {
	batch, row, ok := c.line()
	if !ok {
		batch, row = c.y/c.w, 0
	}
	sum := c.yy - 2*batch*c.y - 2*row*c.xy + 2*batch*row*c.x + batch*batch*c.w + row*row*c.xx
	return time.Duration(math.Sqrt(max(sum/c.w, 0)))
}
