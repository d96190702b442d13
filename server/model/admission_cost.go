package model

import (
	"math"
	"time"
)

// batchCost is a linear fit of recent execution times: a time for each batch and one for each
// row.
type batchCost struct {
	executions float64 // executions in total
	// Weighted sums over executions; older ones count less.
	w, x, y, xx, xy, yy float64
}

const (
	costDecay     = 0.98 // weight of an execution relative to the next one
	minExecutions = 8    // executions before an estimate is made
	// ^minVariance is the variance of the rows, in squares of their mean, above which the
	// slope of the line means something.
	minVariance = 0.01
)

func (c *batchCost) add(rows int, took time.Duration) {
	x, y := float64(rows), float64(took)
	c.executions++
	c.w = costDecay*c.w + 1
	c.x, c.y = costDecay*c.x+x, costDecay*c.y+y
	c.xx, c.xy, c.yy = costDecay*c.xx+x*x, costDecay*c.xy+x*y, costDecay*c.yy+y*y
}

// fit returns the time of a batch and of each of its rows. It reports false when all
// batches were of about the same size, so that the two cannot be separated.
func (c *batchCost) fit() (batch, row float64, ok bool) {
	x, y := c.x/c.w, c.y/c.w
	vx := c.xx/c.w - x*x
	if vx < minVariance*x*x {
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

// duration estimates the time of a batch of that many rows. When all batches had about the
// same size, a larger batch is assumed to take as long, a smaller one its share.
func (c *batchCost) duration(rows float64) time.Duration {
	if batch, row, ok := c.fit(); ok {
		return time.Duration(batch + row*rows)
	}
	return time.Duration(c.y / c.w * min(1, rows*c.w/c.x))
}

// meanRows returns the recent mean of the rows of batches.
func (c *batchCost) meanRows() float64 { return c.x / c.w }

// deviation returns the standard deviation of the times from the line.
func (c *batchCost) deviation() time.Duration {
	batch, row, ok := c.fit()
	if !ok {
		batch, row = c.y/c.w, 0
	}
	sum := c.yy - 2*batch*c.y - 2*row*c.xy + 2*batch*row*c.x + batch*batch*c.w + row*row*c.xx
	return time.Duration(math.Sqrt(max(sum/c.w, 0)))
}
