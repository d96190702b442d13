package lint

import (
	"fmt"
	"path"
	"strings"
)

// Text returns the page for a terminal.
func (p Page) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s\n", p.ID, p.Severity, p.Doc)
	fmt.Fprintf(&b, "\n%s\n", wrapText(plainText(p.Why), 80))
	fmt.Fprintf(&b, "\n%s\n", wrapText("Correction: "+plainText(p.Correction)+".", 80))
	for _, e := range p.examples() {
		fmt.Fprintf(&b, "\n%s\n", e.title)
		for _, f := range e.files {
			fmt.Fprintf(&b, "\n  %s\n", exampleCaption(f))
			for line := range strings.Lines(strings.TrimRight(f.Text, "\n") + "\n") {
				fmt.Fprintf(&b, "    %s", line)
			}
		}
	}
	return b.String()
}

type example struct {
	title string
	files []ExampleFile
}

// examples returns the bad and the good example, without files that are empty. A rule that cannot
// be broken by a configuration has none.
func (p Page) examples() []example {
	var list []example
	for _, e := range []example{{"Bad", p.Bad}, {"Good", p.Good}} {
		var files []ExampleFile
		for _, f := range e.files {
			if strings.TrimSpace(f.Text) != "" {
				files = append(files, f)
			}
		}
		if len(files) > 0 {
			list = append(list, example{e.title, files})
		}
	}
	return list
}

// exampleCaption says what a file of an example shows. ONNX files are given by their inputs and outputs.
func exampleCaption(f ExampleFile) string {
	if path.Ext(f.Name) == ".onnx" && isGraph(f.Text) {
		return f.Name + ", a graph with"
	}
	return f.Name
}

func isGraph(text string) bool {
	return strings.HasPrefix(text, "input ") || strings.HasPrefix(text, "output ")
}

// plainText returns a text without the marks of code in Markdown.
func plainText(text string) string { return strings.ReplaceAll(text, "`", "") }

// wrapText breaks a text into lines of at most a number of columns.
func wrapText(text string, columns int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > columns:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
