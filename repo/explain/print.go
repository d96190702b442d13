package explain

import (
	"fmt"
	"path"
	"strings"
)

// Text returns the page for a terminal.
func (p Page) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s\n", p.ID, p.Severity, p.Doc)
	fmt.Fprintf(&b, "\n%s\n", wrap(plain(p.Why), 80))
	fmt.Fprintf(&b, "\n%s\n", wrap("Correction: "+plain(p.Correction)+".", 80))
	for _, e := range p.examples() {
		fmt.Fprintf(&b, "\n%s\n", e.title)
		for _, f := range e.files {
			fmt.Fprintf(&b, "\n  %s\n", caption(f))
			for line := range strings.Lines(strings.TrimRight(f.Text, "\n") + "\n") {
				fmt.Fprintf(&b, "    %s", line)
			}
		}
	}
	return b.String()
}

// Markdown returns the page as a document.
func (p Page) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n\n", p.ID, p.Doc)
	fmt.Fprintf(&b, "%s\n\n", wrap("Severity: "+p.Severity.String()+". "+p.Why, 100))
	fmt.Fprintf(&b, "%s\n", wrap("**Correction:** "+p.Correction+".", 100))
	for _, e := range p.examples() {
		fmt.Fprintf(&b, "\n## %s\n", e.title)
		for _, f := range e.files {
			fmt.Fprintf(&b, "\n%s:\n\n```%s\n%s\n```\n", markdownCaption(f), language(f.Name), strings.TrimRight(f.Text, "\n"))
		}
	}
	fmt.Fprintf(&b, "\nTo keep one place as it is, write `# triton-lint: ignore %s REASON` above it\n([more](../repo.md#exceptions)). "+
		"[All rules](../rules.md)\n", p.ID)
	return b.String()
}

type example struct {
	title string
	files []File
}

// examples returns the bad and the good example, without files that are empty. A rule that cannot
// be broken by a configuration has none.
func (p Page) examples() []example {
	var list []example
	for _, e := range []example{{"Bad", p.Bad}, {"Good", p.Good}} {
		var files []File
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

// caption says what a file of an example shows. ONNX files are given by their inputs and outputs.
func caption(f File) string {
	if path.Ext(f.Name) == ".onnx" && isGraph(f.Text) {
		return f.Name + ", a graph with"
	}
	return f.Name
}

func markdownCaption(f File) string {
	if c := caption(f); c != f.Name {
		return "`" + f.Name + "`, a graph with"
	}
	return "`" + f.Name + "`"
}

func isGraph(text string) bool {
	return strings.HasPrefix(text, "input ") || strings.HasPrefix(text, "output ")
}

func language(name string) string {
	switch path.Ext(name) {
	case ".pbtxt":
		return "textproto"
	case ".py":
		return "python"
	}
	return "text"
}

// plain returns a text without the marks of code in Markdown.
func plain(text string) string { return strings.ReplaceAll(text, "`", "") }

// wrap breaks a text into lines of at most a number of columns.
func wrap(text string, columns int) string {
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

// Table returns the rows of a table of rules in Markdown, with links to their pages.
func Table(list []Page) string {
	var b strings.Builder
	b.WriteString("| Rule | Severity | Requirement | Correction |\n|---|---|---|---|\n")
	for _, p := range list {
		fmt.Fprintf(&b, "| [%s](rules/%s.md) | %s | %s | %s |\n", p.ID, p.ID, p.Severity, p.Doc, p.Correction)
	}
	return b.String()
}
