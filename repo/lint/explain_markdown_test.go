package lint

import (
	"fmt"
	"path"
	"strings"
)

// The documents about the rules are written by a test: the program prints pages only.

// Markdown returns the page as a document.
func (p Page) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n\n", p.ID, p.Doc)
	fmt.Fprintf(&b, "%s\n\n", wrapText("Severity: "+p.Severity.String()+". "+p.Why, 100))
	fmt.Fprintf(&b, "%s\n", wrapText("**Correction:** "+p.Correction+".", 100))
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

func markdownCaption(f ExampleFile) string {
	if c := exampleCaption(f); c != f.Name {
		return "`" + f.Name + "`, a graph with"
	}
	return "`" + f.Name + "`"
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

// Table returns the rows of a table of rules in Markdown, with links to their pages.
func Table(list []Page) string {
	var b strings.Builder
	b.WriteString("| Rule | Severity | Requirement | Correction |\n|---|---|---|---|\n")
	for _, p := range list {
		fmt.Fprintf(&b, "| [%s](rules/%s.md) | %s | %s | %s |\n", p.ID, p.ID, p.Severity, p.Doc, p.Correction)
	}
	return b.String()
}
