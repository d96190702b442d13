package measure

import "slices"

// PercentileOf returns Percentile of values that are not sorted, and reorders them. It takes time
// in proportion to their number.
func PercentileOf(values []int64, p float64) int64 {
	if len(values) == 0 {
		return 0
	}
	return Nth(values, int(rank(p, uint64(len(values)))))
}

// Nth returns the value that sorted values would have at index n, and reorders values: those
// before n are not greater, those after it not less.
func Nth(values []int64, n int) int64 {
	low, high := 0, len(values)-1
	for steps := 0; high > low; steps++ {
		if steps == 64 { // an order that quickselect is slow with
			slices.Sort(values[low : high+1])
			break
		}
		pivot := median(values[low], values[low+(high-low)/2], values[high])
		i, j := low, high
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i++
				j--
			}
		}
		switch {
		case n <= j:
			high = j
		case n >= i:
			low = i
		default:
			return values[n]
		}
	}
	return values[n]
}

func median(a, b, c int64) int64 { return max(min(a, b), min(max(a, b), c)) }
