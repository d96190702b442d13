package ui

import "slices"

const bars = "▁▂▃▄▅▆▇█"

// Sparkline draws the last width values as bars between zero and the highest.
func Sparkline(values []float64, width int) string {
	if len(values) > width {
		values = values[len(values)-width:]
	}
	if len(values) == 0 {
		return ""
	}
	top := slices.Max(values)
	glyphs := []rune(bars)
	line := make([]rune, len(values))
	for i, v := range values {
		level := 0
		if top > 0 && v > 0 {
			level = min(int(v/top*float64(len(glyphs))), len(glyphs)-1)
		}
		line[i] = glyphs[level]
	}
	return string(line)
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
