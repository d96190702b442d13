package lint

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"triton/repo"
)

// sources are the lines of the files with findings.
type sources struct {
	read  func(file string) ([]byte, error)
	lines map[string][]string
}

// line returns a line of a file, which counts from 1. It returns false if there is none.
func (s *sources) line(file string, n int) (string, bool) {
	if s.read == nil || n < 1 {
		return "", false
	}
	lines, ok := s.lines[file]
	if !ok {
		if src, err := s.read(file); err == nil { // else the finding says that the file cannot be read
			lines = strings.Split(string(src), "\n")
		}
		s.lines[file] = lines
	}
	if n > len(lines) {
		return "", false
	}
	return strings.TrimRight(lines[n-1], "\r"), true
}

const (
	excerptWidth = 100 // columns of the source that are shown
	tabWidth     = 4
)

// excerpt prints the line of a finding with a caret below the place.
func excerpt(w io.Writer, s textStyle, f repo.Finding, line string) {
	start := min(max(f.Col-1, 0), len(line))
	end := start + len(wordAt(line[start:]))
	before, marked, after := shownText(line[:start]), shownText(line[start:end]), shownText(line[end:])
	if cut := ansi.StringWidth(before) + ansi.StringWidth(marked) - excerptWidth; cut > 0 {
		before = "…" + ansi.TruncateLeft(before, cut+1, "")
	}
	room := max(excerptWidth-ansi.StringWidth(before), 1)
	marked = ansi.Truncate(marked, room, "…")
	after = ansi.Truncate(after, max(room-ansi.StringWidth(marked), 0), "…")

	number := fmt.Sprintf("%5d", f.Line)
	fmt.Fprintf(w, "%s %s%s%s\n", s.faint(number+" |"), before, marked, after)
	carets := strings.Repeat("^", max(ansi.StringWidth(marked), 1))
	fmt.Fprintf(w, "%s %s%s\n", s.faint(strings.Repeat(" ", len(number))+" |"),
		strings.Repeat(" ", ansi.StringWidth(before)), s.severity(f.Severity, carets))
}

// shownText returns a part of a line as it is printed: spaces for tabs, no control characters.
func shownText(text string) string {
	return printable(strings.ReplaceAll(strings.ToValidUTF8(text, string(utf8.RuneError)), "\t", strings.Repeat(" ", tabWidth)))
}

// wordAt returns the first word, number, quoted string or character of a text.
func wordAt(text string) string {
	if text == "" {
		return ""
	}
	if quote := text[0]; quote == '"' || quote == '\'' {
		if end := strings.IndexByte(text[1:], quote); end >= 0 {
			return text[:end+2]
		}
		return text
	}
	end := strings.IndexFunc(text, func(r rune) bool {
		return r != '_' && r != '.' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	})
	switch {
	case end < 0:
		return text
	case end == 0:
		_, n := utf8.DecodeRuneInString(text)
		return text[:n]
	}
	return text[:end]
}
