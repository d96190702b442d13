package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestColors: images and PDF files have the colors that pages have on light ground.
func TestColors(t *testing.T) {
	t.Parallel()
	light, _, ok := strings.Cut(chartStyle, "@media")
	require.True(t, ok)
	for c := range numColors {
		r, g, b := c.rgb()
		long := fmt.Sprintf("#%02x%02x%02x", r, g, b)
		short := long
		if long[1] == long[2] && long[3] == long[4] && long[5] == long[6] {
			short = "#" + long[1:2] + long[3:4] + long[5:6]
		}
		if c >= part0 {
			require.Contains(t, chartStyle, fmt.Sprintf(".fill-%s { fill: %s; }", c.name(), long))
			continue
		}
		require.Contains(t, light, fmt.Sprintf("--%s: %s;", c.name(), short))
	}
}
