package perf

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/perf"
	"triton/perf/report"
	resultfile "triton/perf/result"
)

// addResultFlags adds the options that say how the result is shown.
func (o *options) addResultFlags(t table) {
	t.value("output", "", "<"+flags.FormNames(flags.Forms(), "|")+">", flags.OutputUsage+"; then perf_analyzer's text goes to standard error (text)", func(text string) error {
		o.output.Form = text
		return nil
	})
	t.value("output-file", "o", "<file>", flags.FileUsage, func(text string) error {
		o.output.Files = append(o.output.Files, text)
		return nil
	})
	t.toggle("no-tui", "", "no live view: print lines on a terminal too", func() { o.noTUI = true })
	t.MarkOwn("output", "output-file", "no-tui")
}

// checkFiles returns an error about a file that cannot be written after the measurement.
func (o *options) checkFiles() (err error) {
	if o.targets, err = o.output.Targets(flags.Forms()); err != nil {
		return err
	}
	names := []string{o.csv, o.export}
	for _, name := range names {
		if name == "" || name == "-" {
			continue
		}
		if err := process.CheckWritable(name); err != nil {
			return err
		}
	}
	for _, target := range o.targets {
		names = append(names, target.File)
	}
	for i, name := range names {
		same := func(other string) bool { return filepath.Clean(other) == filepath.Clean(name) }
		if name != "" && slices.ContainsFunc(names[:i], func(other string) bool { return other != "" && same(other) }) {
			return fmt.Errorf("%s: two options name the same file", name)
		}
	}
	return o.targets.Check()
}

// writeResult writes the result in the forms of --output and -o.
func writeResult(p process.Process, o *options, rep *perf.Report) error {
	return o.targets.Write(p, func(w io.Writer, form string) error {
		switch form {
		case flags.TextForm.Name:
			return report.WriteTable(w, rep, false)
		case flags.CSVForm.Name:
			return report.WriteTableCSV(w, rep)
		case flags.MarkdownForm.Name:
			return report.WriteMarkdown(w, rep)
		case flags.JSONForm.Name:
			return resultfile.Write(w, rep, fileOptions(p, o))
		case flags.HTMLForm.Name:
			runs := []resultfile.Run{{Name: o.config.Model, File: resultfile.New(rep, fileOptions(p, o))}}
			return resultfile.WritePage(w, runs, resultfile.PageOptions{Version: p.Version})
		}
		return fmt.Errorf("no writer for the form %s", form)
	})
}

func fileOptions(p process.Process, o *options) resultfile.Options {
	url := o.client.Address
	if o.config.ServiceKind == tritonCAPI {
		url = "" // the server is in this process
	}
	return resultfile.Options{
		Version: p.Version, Commit: p.Commit, URL: url, Machine: resultfile.ThisMachine(), Created: time.Now(),
	}
}
