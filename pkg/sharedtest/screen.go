package sharedtest

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
	first, last   int      // rows of the scrolling region, from 0; the last one is 0 for all rows
	before        *Screen  // what is shown again after the alternate screen
	unknown       []string // control sequences that were not obeyed
	err           error    // what Write returns
}

// NewScreen returns an empty screen.
func NewScreen(width, height int) *Screen { return &Screen{width: width, height: height} }

// Size returns the columns and the rows of the screen.
func (s *Screen) Size() (width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.width, s.height
}

var control = regexp.MustCompile(`^\x1b(?:\[([?>]?)([0-9;]*)(\$?[@A-Za-z])|M)`)

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
	case "H":
		column := 1
		if _, second, ok := strings.Cut(number, ";"); ok {
			n, _ = strconv.Atoi(strings.TrimSuffix(number, ";"+second))
			column, _ = strconv.Atoi(second)
		}
		s.move(n, column)
	case "d":
		s.move(n, s.col+1)
	case "G":
		s.col = min(count, s.width) - 1
	case "r":
		s.scrolls(number)
	case "M":
		for range count {
			s.scroll(s.row)
		}
	case "A":
		s.row = max(s.row-count, s.top)
	case "": // reverse index
		if s.last > 0 && s.row == s.top+s.first {
			s.insertLines(1)
			break
		}
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
		switch n {
		case 25:
			s.hidden = kind == "?l"
		case 1049:
			s.alternate(kind == "?h")
		}
	case "m", "?u", "?$p", ">m", ">u": // colors; questions what the terminal knows, which it need not answer, and how it sends keys
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

// move puts the cursor at a row and a column, which count from 1.
func (s *Screen) move(row, column int) {
	s.row = s.top + min(max(row, 1), s.height) - 1
	s.col = min(max(column, 1), s.width) - 1
}

// scrolls sets the rows that scroll.
func (s *Screen) scrolls(rows string) {
	first, last, _ := strings.Cut(rows, ";")
	s.first, s.last = 0, 0
	if n, err := strconv.Atoi(last); err == nil && n < s.height || first != "1" && first != "" {
		f, _ := strconv.Atoi(first)
		s.first, s.last = max(f, 1)-1, min(max(n, 1), s.height)-1
	}
	s.move(1, 1)
}

// bottom returns the index after the last line of the rows that scroll.
func (s *Screen) bottom() int {
	if s.last > 0 {
		return s.top + s.last + 1
	}
	return s.top + s.height
}

// scroll removes a line; those below it in the rows that scroll move up.
func (s *Screen) scroll(row int) {
	for len(s.lines) < s.bottom() {
		s.lines = append(s.lines, nil)
	}
	copy(s.lines[row:s.bottom()], s.lines[row+1:s.bottom()])
	s.lines[s.bottom()-1] = nil
}

// alternate starts or ends the alternate screen, which is empty at first.
func (s *Screen) alternate(on bool) {
	switch {
	case on && s.before == nil:
		s.before = &Screen{lines: s.lines, top: s.top, row: s.row, col: s.col}
		s.lines, s.top, s.row, s.col = nil, 0, 0, 0
	case !on && s.before != nil:
		s.lines, s.top, s.row, s.col = s.before.lines, s.before.top, s.before.row, s.before.col
		s.before = nil
	}
}

func (s *Screen) insertLines(n int) {
	bottom := s.bottom()
	for range n {
		if s.last > 0 && len(s.lines) >= bottom {
			s.lines = append(s.lines[:bottom-1], s.lines[bottom:]...)
		}
		s.lines = append(s.lines[:s.row], append([][]rune{nil}, s.lines[s.row:]...)...)
	}
	if s.last == 0 {
		s.lines = s.lines[:min(len(s.lines), bottom)]
	}
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
	if s.last > 0 && s.row == s.top+s.last {
		s.scroll(s.top + s.first)
		return
	}
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
