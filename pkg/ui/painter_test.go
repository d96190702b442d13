package ui

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// terminal is a small one: it wraps, scrolls into its history and knows what the
// painter writes.
type terminal struct {
	width, height int
	lines         [][]rune // with the history
	top           int      // the first line on the screen
	row, col      int      // row counts from the first line
	hidden        bool
}

var control = regexp.MustCompile(`^\x1b\[(\??)([0-9]*)([A-Za-z])`)

func (s *terminal) Write(b []byte) (int, error) {
	text := string(b)
	for text != "" {
		if m := control.FindStringSubmatch(text); m != nil {
			s.control(m[1]+m[3], m[2])
			text = text[len(m[0]):]
			continue
		}
		r := []rune(text)[0]
		text = text[len(string(r)):]
		switch r {
		case '\r':
			s.col = 0
		case '\n':
			s.down()
		default:
			s.put(r)
		}
	}
	return len(b), nil
}

func (s *terminal) control(what, number string) {
	n, _ := strconv.Atoi(number)
	switch what {
	case "A":
		s.row = max(s.row-max(n, 1), s.top)
	case "K", "J":
		s.line()
		s.lines[s.row] = s.lines[s.row][:min(s.col, len(s.lines[s.row]))]
		if what == "J" {
			s.lines = s.lines[:s.row+1]
		}
	case "?l", "?h":
		s.hidden = what == "?l"
	}
}

func (s *terminal) line() {
	for len(s.lines) <= s.row {
		s.lines = append(s.lines, nil)
	}
}

func (s *terminal) down() {
	s.row++
	s.line()
	s.top = max(s.top, s.row-s.height+1)
}

func (s *terminal) put(r rune) {
	if s.col == s.width {
		s.col = 0
		s.down()
	}
	s.line()
	for len(s.lines[s.row]) <= s.col {
		s.lines[s.row] = append(s.lines[s.row], ' ')
	}
	s.lines[s.row][s.col] = r
	s.col++
}

// String is everything that was ever shown, as a scroll back shows it.
func (s *terminal) String() string {
	var lines []string
	for _, l := range s.lines {
		lines = append(lines, strings.TrimRight(string(l), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func startPainter(width, height int) (*painter, *terminal) {
	s := &terminal{width: width, height: height}
	p := newPainter(s)
	p.size = func() (int, int) { return s.width, s.height }
	return p, s
}

func TestPainterLosesNoLine(t *testing.T) {
	t.Parallel()
	for _, height := range []int{2, 3, 6, 24} {
		p, s := startPainter(20, height)
		_, err := s.Write([]byte("before\n\rmore\n\r"))
		require.NoError(t, err)
		p.print("first")
		p.draw("\x1b[1mlevel\x1b[0m 1\nrate\n####")
		p.print("second\nthird")
		p.draw("level 2\nrate of more than twenty columns\n################")
		p.print("a line that the terminal wraps\n\na line of exactly 20")
		p.draw("level 3\nrate")
		shown := strings.Split(s.String(), "\n")
		require.Equal(t, "rate", shown[len(shown)-1])
		require.True(t, s.hidden)
		p.print("last")
		p.clear()
		require.Equal(t, "before\nmore\nfirst\nsecond\nthird\na line that the term\ninal wraps\n\na line of exactly 20\nlast", s.String())
		require.False(t, s.hidden)
		require.Zero(t, s.col)
	}
}

func TestPainterDrawsOverAnEchoedInterrupt(t *testing.T) {
	t.Parallel()
	p, s := startPainter(20, 10)
	p.draw("level\n####")
	_, err := s.Write([]byte("^C"))
	require.NoError(t, err)
	p.print("interrupted")
	require.Equal(t, "interrupted\nlevel\n####", s.String())
	p.draw("")
	p.clear()
	require.Equal(t, "interrupted", s.String())
	require.False(t, s.hidden)
}

func TestPainterFollowsTheWidth(t *testing.T) {
	t.Parallel()
	p, s := startPainter(20, 10)
	p.draw("0123456789012345\nabc")
	// As a terminal does that becomes narrower, it wraps what is on it.
	s.width, s.lines, s.row = 10, [][]rune{[]rune("0123456789"), []rune("012345"), []rune("abc")}, 2
	p.draw("0123456789012345\nabc")
	require.Equal(t, "012345678\nabc", s.String())
}

func TestNarrowTable(t *testing.T) {
	t.Parallel()
	columns := []Column{{Title: "name"}, {Title: "a", Spare: 1}, {Title: "bb", Spare: 2}, {Title: "c"}, {Title: "dd", Spare: 2}}
	rows := [][]string{{"x", "1", "2", "333", "4"}, {"y", "5", "6", "7", "8"}}
	titles := func(width int) string {
		var all []string
		got, cells := narrow(width, columns, rows)
		for i, c := range got {
			all = append(all, c.Title+"="+cells[1][i])
		}
		return strings.Join(all, " ")
	}
	require.Equal(t, 28, tableWidth(columns, rows))
	require.Equal(t, "name=y a=5 bb=6 c=7 dd=8", titles(28))
	require.Equal(t, "name=y a=5 c=7", titles(27))
	require.Equal(t, "name=y a=5 c=7", titles(18))
	require.Equal(t, "name=y c=7", titles(17))
	require.Equal(t, "name=y c=7", titles(3))
}
