package perf

import (
	"context"

	"triton/perf/load"
)

// search visits the levels of one batch size.
func (r *run) search(ctx context.Context, gen *load.Generator, batch int) error {
	visited, stableCount := 0, 0
	visit := func(n int) (meets bool, err error) {
		level, err := r.level(ctx, gen, batch, n)
		visited++
		if level.Stable {
			stableCount++
		}
		return level.Stable && !level.OverLimit && !r.report.Interrupted, err
	}
	var err error
	if r.settings.Search == Binary {
		err = binary(r.settings.Concurrency, visit)
	} else {
		err = linear(r.settings.Concurrency, visit)
	}
	if visited == 1 && stableCount == 0 && err == nil && !r.report.Interrupted {
		r.report.Unstable = true
	}
	return err
}

// linear visits rising levels while they meet the limit.
func linear(c Range, visit func(int) (bool, error)) error {
	for n := c.Start; ; n += c.Step {
		meets, err := visit(n)
		if err != nil || !meets || n+c.Step > c.End && c.End != 0 || c.Step < 1 {
			return err
		}
	}
}

// binary finds the highest level that meets the limit.
func binary(c Range, visit func(int) (bool, error)) error {
	low, high := c.Start, c.End
	meets, err := visit(low)
	if err != nil || !meets {
		return err
	}
	if meets, err = visit(high); err != nil || meets {
		return err
	}
	for high-low > max(c.Step, 1) {
		mid := (low + high) / 2
		if meets, err = visit(mid); err != nil {
			return err
		}
		if meets {
			low = mid
		} else {
			high = mid
		}
	}
	return nil
}
