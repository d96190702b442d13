package server

import (
	"cmp"
	"fmt"
	"slices"

	"triton/server/scheduler"
)

// RateLimiter configures the rate limiter.
type RateLimiter struct {
	// Enabled makes the instances of all models wait for the resources that their
	// configurations name; otherwise they run as soon as they are free.
	Enabled bool
	// Resources are the available resources; if empty, as many as the loaded
	// instances need.
	Resources []scheduler.Resource
}

func (r RateLimiter) limiter() *scheduler.RateLimiter {
	if !r.Enabled {
		return nil
	}
	return scheduler.NewRateLimiter(r.Resources)
}

// rows returns the resources as rows of Triton's table of options.
func (r RateLimiter) rows() (rows [][]string) {
	if !r.Enabled {
		return nil
	}
	order := func(a, b scheduler.Resource) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Name, b.Name))
	}
	for i, x := range slices.SortedStableFunc(slices.Values(r.Resources), order) {
		rows = append(rows, []string{
			fmt.Sprintf("rate_limit_resource[%d]", i), fmt.Sprintf(`{"name":"%s", "count":%d "device":%d}`, x.Name, int64(x.Count), x.Device),
		})
	}
	return rows
}
