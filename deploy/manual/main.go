// Command manual writes a manual page for each command of triton: manual FOLDER VERSION EPOCH.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"triton/cmd/cli"
	"triton/cmd/cli/process"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: manual FOLDER VERSION EPOCH")
	}
	epoch, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return fmt.Errorf("the third argument is a time in seconds: %w", err)
	}
	if err := os.MkdirAll(args[0], 0o755); err != nil {
		return err
	}
	date := time.Unix(epoch, 0).UTC()
	root := cli.Root(process.Process{Stdout: io.Discard, Stderr: io.Discard, Version: args[1]})
	prepare(root)
	return doc.GenManTree(root, &doc.GenManHeader{Title: "TRITON", Section: "1", Source: "triton " + args[1], Manual: "Triton", Date: &date}, args[0])
}

// plain keeps characters that the generator would read as Markdown: <name> as a tag of HTML,
// say.
var plain = strings.NewReplacer("<", `\<`, "*", `\*`, "_", `\_`, "[", `\[`, "`", "\\`")

// prepare makes the texts of a command and those below it Markdown. It leaves out the line that
// says which program wrote the page.
func prepare(c *cobra.Command) {
	c.DisableAutoGenTag = true
	c.Short, c.Long = plain.Replace(c.Short), plain.Replace(c.Long)
	escape := func(f *pflag.Flag) { f.Usage = plain.Replace(f.Usage) }
	c.NonInheritedFlags().VisitAll(escape)
	for _, sub := range c.Commands() {
		prepare(sub)
	}
}
