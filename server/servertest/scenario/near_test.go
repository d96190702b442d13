package scenario

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// near reports whether two records are the same, except that each line may be one step of the
// grid later: a busy machine is late.
func near(a, b []string) bool {
	la, lb := parsed(a), parsed(b)
	return slices.EqualFunc(la, lb, func(x, y line) bool {
		return x.what == y.what && slices.EqualFunc(x.times, y.times, func(m, n int) bool {
			return max(m-n, n-m) <= int(Grid.Milliseconds())
		})
	})
}

// line is one line of a record.
type line struct {
	index int
	what  string // without its times
	times []int
}

var (
	when = regexp.MustCompile(`^(\d+) `)
	took = regexp.MustCompile(`=(\d+)ms`)
)

// parsed returns the lines of a record, sorted by their text without the time.
func parsed(record []string) []line {
	var all []line
	for i, text := range record {
		l := line{index: i, what: took.ReplaceAllString(when.ReplaceAllString(text, ""), "=ms")}
		for _, m := range append(when.FindAllStringSubmatch(text, -1), took.FindAllStringSubmatch(text, -1)...) {
			n, _ := strconv.Atoi(m[1])
			l.times = append(l.times, n)
		}
		all = append(all, l)
	}
	slices.SortStableFunc(all, func(a, b line) int { return strings.Compare(a.what, b.what) })
	return all
}

// earliest takes from two records that are near the earlier time of everything.
func earliest(a, b []string) []string {
	la, lb := parsed(a), parsed(b)
	for i := range la {
		for k := range la[i].times {
			la[i].times[k] = min(la[i].times[k], lb[i].times[k])
		}
	}
	slices.SortFunc(la, func(x, y line) int { return cmp.Or(cmp.Compare(x.rank(), y.rank()), cmp.Compare(x.index, y.index)) })
	var out []string
	for _, l := range la {
		text, times := l.what, l.times
		if !l.counts() {
			text, times = fmt.Sprintf("%d %s", times[0], text), times[1:]
		}
		for _, ms := range times {
			text = strings.Replace(text, "=ms", fmt.Sprintf("=%dms", ms), 1)
		}
		out = append(out, text)
	}
	return out
}

// counts reports whether the line is a line of statistics.
func (l *line) counts() bool {
	return strings.HasPrefix(l.what, "stats ") || strings.HasPrefix(l.what, "load ")
}

// rank is the order in which Record.Lines writes lines.
func (l *line) rank() string {
	if l.counts() {
		return "~"
	}
	key := "2 " + strings.Fields(l.what)[0]
	if strings.HasPrefix(l.what, "run ") {
		key = "1 " + strings.Fields(l.what)[1]
	}
	return fmt.Sprintf("%09d %s", l.times[0], key)
}

// agreed returns a record on which two runs agree, or one run and this server; nil if there is none.
func agreed(runs [][]string, ours []string) []string {
	for i, a := range runs {
		if near(a, ours) {
			return earliest(a, ours)
		}
		for _, b := range runs[i+1:] {
			if near(a, b) && !slices.ContainsFunc(runs, func(l []string) bool { return near(l, ours) }) {
				return earliest(a, b)
			}
		}
	}
	return nil
}

func TestNear(t *testing.T) {
	t.Parallel()
	a := []string{"0 run m a", "100 a OK", "200 run m b", "stats m ok=1 total=100ms"}
	late := []string{"100 run m a", "200 run m b", "200 a OK", "stats m ok=1 total=200ms"}
	require.True(t, near(a, late))
	require.Equal(t, a, earliest(late, a))
	require.Equal(t, a, earliest(a, late))
	require.False(t, near(a, []string{"0 run m a", "300 a OK", "200 run m b", "stats m ok=1 total=100ms"}))
	require.False(t, near(a, []string{"0 run m b", "100 a OK", "200 run m a", "stats m ok=1 total=100ms"}))
	require.False(t, near(a, a[:3]))
}
