package memory

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxListed bounds a list of numbers: each of them costs a measurement.
const maxListed = 1024

// Space holds the values to try, lists of positive numbers. Instances may be empty.
type Space struct {
	Instances     []int
	Batches       []int
	Concurrencies []int
}

// Load is the load on a server: requests of Batch items, Concurrency of them in
// flight.
type Load struct{ Batch, Concurrency int }

// Validate returns everything that is wrong with the space.
func (s Space) Validate() error {
	check := func(what string, list []int) error {
		if len(list) == 0 {
			return fmt.Errorf("%s: nothing to try", what)
		}
		if i := slices.IndexFunc(list, func(n int) bool { return n < 1 }); i >= 0 {
			return fmt.Errorf("%s: %d is less than 1", what, list[i])
		}
		return nil
	}
	return errors.Join(
		check("instance counts", s.Counts()),
		check("batch sizes", s.Batches),
		check("concurrencies", s.Concurrencies),
	)
}

// Counts returns the instance counts in the order to try them: the smallest first,
// so that a search that runs out of memory has measured the most. Without instance counts they
// are 1, 2 and 4.
func (s Space) Counts() []int {
	if len(s.Instances) == 0 {
		return []int{1, 2, 4}
	}
	return ascending(s.Instances)
}

// BatchSizes returns the batch sizes in rising order.
func (s Space) BatchSizes() []int { return ascending(s.Batches) }

// Loads returns the loads for one server in the order of rising memory: allocators
// keep their memory, so a smaller batch after a larger one would be charged for
// the larger one.
func (s Space) Loads() []Load {
	var loads []Load
	for _, b := range ascending(s.Batches) {
		for _, c := range ascending(s.Concurrencies) {
			loads = append(loads, Load{b, c})
		}
	}
	return loads
}

// Points returns the number of measurements.
func (s Space) Points() int {
	return len(s.Counts()) * len(s.Loads())
}

func ascending(list []int) []int {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// ParseList parses numbers and ranges between commas: "4", "1,4,8", "1:4" (1 to 4),
// "2:8:2" (2, 4, 6, 8).
func ParseList(text string) ([]int, error) {
	var list []int
	for _, part := range strings.Split(text, ",") {
		more, err := parseRange(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		if list = append(list, more...); len(list) > maxListed {
			return nil, fmt.Errorf("%q is more than %d numbers", text, maxListed)
		}
	}
	return list, nil
}

func parseRange(text string) ([]int, error) {
	parts := strings.Split(text, ":")
	if len(parts) > 3 {
		return nil, fmt.Errorf("%q is not of the form start:end:step", text)
	}
	numbers := []int{0, 0, 1}
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a positive number", p)
		}
		numbers[i] = n
	}
	start, end, step := numbers[0], numbers[1], numbers[2]
	if len(parts) == 1 {
		return []int{start}, nil
	}
	if end < start {
		return nil, fmt.Errorf("range %q ends before it starts", text)
	}
	if (end-start)/step >= maxListed {
		return nil, fmt.Errorf("range %q is more than %d numbers", text, maxListed)
	}
	var list []int
	for n := start; n <= end; n += step {
		list = append(list, n)
	}
	return list, nil
}
