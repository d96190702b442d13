package ui

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// usualWidth is the number of columns of a line where no terminal says it.
const usualWidth = 80

// Paragraph writes a text in lines that fit the terminal, or 80 columns without one. Lines break between words
// only, and those after the first begin two columns further than the text does.
func Paragraph(w io.Writer, text string) error {
	width, _ := terminalSize(w)
	if width <= 0 {
		width = usualWidth
	}
	words := strings.Fields(text)
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	line := indent
	var lines []string
	for i, word := range words {
		switch {
		case i == 0:
			line += word
		case ansi.StringWidth(line)+1+ansi.StringWidth(word) > width:
			lines = append(lines, line)
			line = indent + "  " + word
		default:
			line += " " + word
		}
	}
	_, err := fmt.Fprintln(w, strings.Join(append(lines, line), "\n"))
	return err
}
