// Package uitest has a terminal for tests of live views.
package uitest

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Screen is a terminal that keeps what scrolls out of it. It obeys the control
// sequences that bubbletea uses and ignores colors.
type Screen struct {
	mu            sync.Mutex
	width, height int
	lines         [][]rune // with those that have scrolled out
	top           int      // index of the first line on the screen
	row, col      int      // row is an index into lines
	hidden        bool     // the cursor
	unknown       []string // control sequences that were not obeyed
	err           error    // what Write returns
}

// New returns an empty screen.
func New(width, height int) *Screen { return &Screen{width: width, height: height} }

// Size returns the columns and the rows of the screen.
func (s *Screen) Size() (width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.width, s.height
}

var control = regexp.MustCompile(`^\x1b(?:\[(\??)([0-9;]*)([@A-Za-z])|M)`)

// Write draws a text with its control sequences.
func (s *Screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	for text := string(b); text != ""; {
		if m := control.FindStringSubmatch(text); m != nil {
			s.control(m[0], m[1]+m[3], m[2])
			text = text[len(m[0]):]
			continue
		}
		r := []rune(text)[0]
		text = text[len(string(r)):]
		switch r {
		case '\r':
			s.col = 0
		case '\n': // as the terminal driver sends it: CR and LF
			s.col = 0
			s.down()
		default:
			s.put(r)
		}
	}
	return len(b), nil
}

func (s *Screen) control(sequence, kind, number string) {
	n, _ := strconv.Atoi(number)
	count := max(n, 1)
	s.line()
	switch kind {
	case "A":
		s.row = max(s.row-count, s.top)
	case "": // reverse index
		s.row = max(s.row-1, s.top)
	case "B":
		s.row = min(s.row+count, s.top+s.height-1)
	case "C":
		s.col = min(s.col+count, s.width-1)
	case "D":
		s.col = max(min(s.col, s.width-1)-count, 0)
	case "J", "K":
		s.erase(kind == "J", n)
	case "L":
		s.insertLines(count)
	case "X":
		for i := s.col; i < min(s.col+count, len(s.lines[s.row])); i++ {
			s.lines[s.row][i] = ' '
		}
	case "@":
		s.insertCells(count)
	case "P":
		l := s.lines[s.row]
		s.lines[s.row] = append(l[:min(s.col, len(l))], l[min(s.col+count, len(l)):]...)
	case "?l", "?h":
		if n == 25 {
			s.hidden = kind == "?l"
		}
	case "m":
	default:
		s.unknown = append(s.unknown, sequence)
	}
	s.line()
}

func (s *Screen) erase(below bool, n int) {
	l := s.lines[s.row]
	switch n {
	case 0:
		// With the cursor behind the last column, the last character goes too.
		s.lines[s.row] = l[:min(s.col, s.width-1, len(l))]
	case 1:
		for i := range min(s.col+1, len(l)) {
			l[i] = ' '
		}
	}
	if below {
		s.lines = s.lines[:s.row+1]
	}
}

func (s *Screen) insertLines(n int) {
	bottom := s.top + s.height
	for range n {
		s.lines = append(s.lines[:s.row], append([][]rune{nil}, s.lines[s.row:]...)...)
	}
	s.lines = s.lines[:min(len(s.lines), bottom)]
	s.col = 0
}

func (s *Screen) insertCells(n int) {
	l := s.lines[s.row]
	if s.col < len(l) {
		l = append(l[:s.col], append([]rune(strings.Repeat(" ", n)), l[s.col:]...)...)
		s.lines[s.row] = l[:min(len(l), s.width)]
	}
}

func (s *Screen) line() {
	for len(s.lines) <= s.row {
		s.lines = append(s.lines, nil)
	}
}

func (s *Screen) down() {
	s.row++
	s.line()
	s.top = max(s.top, s.row-s.height+1)
}

func (s *Screen) put(r rune) {
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

// Resize changes the width.
func (s *Screen) Resize(width int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.width = width
}

// Fail makes Write return an error; nil ends that.
func (s *Screen) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Hidden reports whether the cursor is hidden.
func (s *Screen) Hidden() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hidden
}

// Column returns the column of the cursor, from 0.
func (s *Screen) Column() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.col
}

// Unknown returns the control sequences that were not obeyed.
func (s *Screen) Unknown() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unknown
}

// String returns everything that was shown, with what has scrolled out.
func (s *Screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := make([]string, len(s.lines))
	for i, l := range s.lines {
		lines[i] = strings.TrimRight(string(l), " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}
