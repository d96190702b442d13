package lint

import (
	"fmt"
	"io"
	"strings"

	"triton/pkg/ui"
	"triton/repo"
)

// textStyle is how the text form looks.
type textStyle struct{ ui.Palette }

func (s textStyle) severity(sev repo.Severity, text string) string {
	switch {
	case !s.Color:
		return text
	case sev == repo.Error:
		return s.Bad(text)
	case sev == repo.Warning:
		return s.Warn(text)
	}
	return ui.Strong(text)
}

func (s textStyle) strong(text string) string {
	if !s.Color {
		return text
	}
	return ui.Strong(text)
}

func (s textStyle) faint(text string) string {
	if !s.Color {
		return text
	}
	return ui.Faint(text)
}

func writeText(w io.Writer, r Report) {
	s := textStyle{ui.Palette{Color: r.Color}}
	sources := sources{read: r.Source, lines: map[string][]string{}}
	for _, f := range r.Findings {
		fmt.Fprintf(w, "%s: %s: %s %s\n", s.strong(position(f)), s.severity(f.Severity, f.Severity.String()),
			printable(f.Msg), s.faint("["+f.Rule+"]"))
		if line, ok := sources.line(f.File, f.Line); ok && strings.TrimSpace(line) != "" {
			excerpt(w, s, f, line)
		}
		if f.Hint != "" {
			fmt.Fprintf(w, "    %s\n", printable(f.Hint))
		}
	}
	fmt.Fprintf(w, "%s checked: %s\n", ui.Plural(r.Models, "model"), reportSummary(r.Findings))
}

// printable replaces control characters, with which a file could steer the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, text)
}

func reportSummary(found []repo.Finding) string {
	if len(found) == 0 {
		return "no findings"
	}
	var counts [repo.Error + 1]int
	for _, f := range found {
		counts[f.Severity]++
	}
	var parts []string
	for s := repo.Error; ; s-- {
		if counts[s] > 0 {
			parts = append(parts, ui.Plural(counts[s], s.String()))
		}
		if s == repo.Note {
			return strings.Join(parts, ", ")
		}
	}
}
