package ui

import (
	"fmt"
	"io"
	"strings"
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
	_, err := fmt.Fprintln(w, strings.Join(wrap(text, width, "  "), "\n"))
	return err
}
