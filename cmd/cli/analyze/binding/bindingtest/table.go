// Package bindingtest writes the tables of options of the documents. It is for tests.
package bindingtest

import (
	"fmt"
	"strings"

	"triton/analyzer/settings"
	"triton/cmd/cli/clitest/golden"
)

// Table returns the options as a Markdown table.
func Table(options []settings.Option) string {
	var s strings.Builder
	s.WriteString("| Key | Flag | Default | Effect |\n|---|---|---|---|\n")
	for _, o := range options {
		flag := "file only"
		if o.Flag != "" {
			flag = "`--" + o.Flag + "`"
		}
		if o.Short != "" {
			flag = "`-" + o.Short + "`, " + flag
		}
		key := "flag only"
		if o.Key != "" {
			key = "`" + o.Key + "`"
		}
		initial := o.Value.String()
		if initial != "" {
			initial = "`" + strings.ReplaceAll(initial, ",", ", ") + "`"
		}
		fmt.Fprintf(&s, "| %s | %s | %s | %s |\n", key, flag, initial, golden.Cell(o.Usage))
	}
	return s.String()
}
