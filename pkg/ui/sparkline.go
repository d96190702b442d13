package ui

import "math"

const bars = "▁▂▃▄▅▆▇█"

// Sparkline draws the last width values as bars between zero and the highest.
func Sparkline(values []float64, width int) string {
	highest := 0.0
	for _, v := range last(values, width) {
		if v > highest { // false for NaN
			highest = v
		}
	}
	return SparklineTo(values, width, highest)
}

// SparklineTo draws the last width values as bars between 0 and top. A NaN is a gap.
func SparklineTo(values []float64, width int, top float64) string {
	values = last(values, width)
	glyphs := []rune(bars)
	line := make([]rune, len(values))
	for i, v := range values {
		level := 0
		switch {
		case math.IsNaN(v):
			line[i] = ' '
			continue
		case top > 0 && v > 0:
			level = min(int(v/top*float64(len(glyphs))), len(glyphs)-1)
		}
		line[i] = glyphs[level]
	}
	return string(line)
}

// Top returns the end of a scale from 0 for the last width values: the least of 1, 1.5, 2, 3,
// 4, 5, 6, 8 and 10 times a power of ten that no value is above. It is 0 without values.
func Top(values []float64, width int) float64 {
	highest := 0.0
	for _, v := range last(values, width) {
		if !math.IsInf(v, 0) && v > highest { // false for NaN
			highest = v
		}
	}
	if highest == 0 {
		return 0
	}
	power := math.Pow(10, math.Floor(math.Log10(highest)))
	for _, step := range []float64{1, 1.5, 2, 3, 4, 5, 6, 8} {
		if highest <= step*power {
			return step * power
		}
	}
	return 10 * power
}

func last(values []float64, width int) []float64 {
	return values[max(0, len(values)-max(width, 0)):]
}

// Bar returns a gauge of the given width, filled to a share between 0 and 1.
func Bar(share float64, width int) string {
	n := min(max(int(share*float64(width)+0.5), 0), width)
	line := make([]rune, width)
	for i := range line {
		line[i] = '░'
		if i < n {
			line[i] = '█'
		}
	}
	return string(line)
}
