package repo

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/modelconfig"
	"triton/pkg/ui"
	"triton/repo"
	"triton/repo/fix"
	"triton/repo/lint"
)

func newLintCommand(p process.Process) *cobra.Command {
	var o lintOptions
	cmd := &cobra.Command{
		Use:   "lint PATH...",
		Short: "Check repositories, models and configurations",
		Long: `Report what a server would reject, and mistakes that it would accept: syntax,
names, backend, tensors against the ONNX graph, batching, instance groups,
versions and files. A PATH is a repository, one model's directory, one
config.pbtxt, or - for a configuration on standard input.

--fix corrects what has one safe correction: what the server refuses and what
follows from the model or the schema, or what changes nothing.

A comment "# triton-lint: ignore RULE reason" above or behind a field accepts
what is found there. A baseline accepts all that is found now.

The exit code is 0 when nothing is found, 1 when something is, and 2 when the
command line is wrong or a path cannot be read.`,
		Example: `  triton repo lint models/
  triton repo lint -o lint.sarif models/
  triton repo lint --severity error models/resnet50
  triton repo lint --fix --diff models/
  triton repo lint --explain TRN310
  triton repo lint --baseline lint.json --write-baseline models/
  triton repo lint --stdin-path models/resnet50/config.pbtxt - < draft.pbtxt`,
	}
	f := flags.New(p, "repo lint", cmd.Flags())
	o.bind(f)
	severities := []string{"note", "warning", "error"}
	when := flags.CompleteValues("auto", "always", "never")
	flags.Complete(cmd, map[string]flags.Completion{
		"output":   flags.CompleteValues(strings.Fields(flags.FormNames(forms(), " "))...),
		"format":   flags.CompleteValues(strings.Fields(flags.FormNames(forms(), " "))...),
		"severity": flags.CompleteValues(severities...),
		"fail-on":  flags.CompleteValues(append(severities, failOnNothing)...),
		"explain":  completeRules, "color": when, "excerpt": when,
		"cpus": flags.CompleteNothing, "gpus": flags.CompleteNothing, "backends": flags.CompleteNothing, "model-config-name": flags.CompleteNothing, "backend-config": flags.CompleteNothing, "default-max-batch-size": flags.CompleteNothing, "rules-url": flags.CompleteNothing,
	})
	f.FillBefore(cmd, &o.config)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		switch {
		case o.rules:
			return lint.WriteRules(p.Stdout, lint.Rules())
		case o.explain != "":
			return runExplain(p, o.explain)
		}
		return runLint(p, o, args)
	}
	return cmd
}

// completeRules suggests the ids of the rules.
func completeRules(*cobra.Command, string) []string {
	var ids []string
	for _, r := range lint.Rules() {
		ids = append(ids, r.ID)
	}
	return ids
}

func runExplain(p process.Process, rule string) error {
	page, err := lint.Explain(rule)
	if err != nil {
		return process.UsageError("--explain: %w", err)
	}
	_, err = io.WriteString(p.Stdout, page.Text())
	return err
}

// failOnNothing is the value of --fail-on for an exit code that does not depend on the findings.
const failOnNothing = "none"

// thresholds are the lowest severities that are reported, and that make the command fail.
type thresholds struct {
	reported, fails repo.Severity
	never           bool // findings do not make the command fail
}

func (o *lintOptions) thresholds() (t thresholds, err error) {
	if t.reported, err = repo.ParseSeverity(o.severity); err != nil {
		return t, process.UsageError("--severity: %w", err)
	}
	switch o.failOn {
	case "":
		t.fails = t.reported
	case failOnNothing:
		t.never = true
	default:
		if t.fails, err = repo.ParseSeverity(o.failOn); err != nil {
			return t, process.UsageError("--fail-on: %w, or none", err)
		}
	}
	return t, nil
}

func runLint(p process.Process, o lintOptions, paths []string) error {
	limits, err := o.thresholds()
	if err != nil {
		return err
	}
	style, err := o.style(p)
	if err != nil {
		return err
	}
	targets, err := o.targets()
	if err == nil {
		err = targets.Check()
	}
	switch {
	case err != nil:
		return &process.ExitError{Code: process.Usage, Err: err}
	case len(paths) == 0:
		return process.UsageError("repo lint takes the path of a repository, a model or a %s", modelconfig.FileName)
	case o.diff && !o.fix:
		return process.UsageError("--diff shows what --fix would change: it needs --fix")
	case o.fix && !o.diff && slices.Contains(paths, "-"):
		return process.UsageError("--fix writes files: with standard input it needs --diff")
	case o.gpus < -1 || o.gpus > maxGPUs:
		return process.UsageError("--gpus: %d is not between 0 and %d, or -1 for a number that is not known", o.gpus, maxGPUs)
	case o.CPUs < 0:
		return process.UsageError("--cpus: %d is less than 0", o.CPUs)
	case o.writeBaseline && o.baseline == "":
		return process.UsageError("--write-baseline needs --baseline with the file to write")
	}
	if err := o.applyBackendConfig(); err != nil {
		return err
	}
	models, err := openModels(p, paths, o.stdinPath)
	if err != nil {
		return err
	}
	if o.fix {
		if err := runFix(p, o, models, limits); err != nil || o.diff {
			return err
		}
	}
	found, err := o.findings(p, models, limits)
	if err != nil || o.writeBaseline {
		return err
	}
	if len(targets) == 0 {
		targets = flags.OutputTargets{{Form: flags.TextForm.Name, File: "-"}}
	}
	r := style.report(o, models, found, p)
	write := func(w io.Writer, form string) error {
		r := r
		r.Color = r.Color && w == p.Stdout
		return lint.WriteReport(w, form, r)
	}
	if err := targets.Write(p, write); err != nil {
		return &process.ExitError{Code: process.Usage, Err: err} // Failure means findings
	}
	if !limits.never && slices.ContainsFunc(found, func(f repo.Finding) bool { return f.Severity >= limits.fails }) {
		return &process.ExitError{Code: process.Failure}
	}
	return nil
}

// openModels returns the models at paths. The path - is the configuration on standard input, which
// is that of the model at stdinPath, or of none if that is empty.
func openModels(p process.Process, paths []string, stdinPath string) ([]repo.Model, error) {
	var all []repo.Model
	for _, path := range paths {
		models, err := openPath(p, path, stdinPath)
		if err != nil {
			return nil, &process.ExitError{Code: process.Usage, Err: err}
		}
		all = append(all, models...)
	}
	return all, nil
}

func openPath(p process.Process, path, stdinPath string) ([]repo.Model, error) {
	if path != "-" {
		return repo.Open(path)
	}
	text, err := io.ReadAll(p.Stdin)
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	if stdinPath == "" {
		m, err := repo.OpenText(modelconfig.FileName, text)
		m.ConfigOnly, m.Repository, m.Versions = true, "", nil
		return []repo.Model{m}, err
	}
	m, err := repo.OpenText(stdinPath, text)
	return []repo.Model{m}, err
}

// findings checks the models, and leaves out what comments and the baseline accept. It writes the
// baseline if that is asked for.
func (o *lintOptions) findings(p process.Process, models []repo.Model, limits thresholds) ([]repo.Finding, error) {
	found, fixed, err := o.check(models, limits)
	if err != nil {
		return nil, &process.ExitError{Code: process.Usage, Err: err}
	}
	if o.writeBaseline {
		err := process.WriteFile(o.baseline, func(w io.Writer) error { return lint.WriteBaseline(w, o.baseline, found) })
		if err != nil {
			return nil, &process.ExitError{Code: process.Usage, Err: fmt.Errorf("write the baseline: %w", err)}
		}
		fmt.Fprintf(p.Stdout, "%s written to %s\n", ui.Plural(len(found), "finding"), o.baseline)
		return nil, nil
	}
	if fixed > 0 {
		fmt.Fprintf(p.Stderr, "baseline %s: %s no longer found; --write-baseline takes them out\n", o.baseline, ui.Plural(fixed, "finding"))
	}
	return found, nil
}

// check returns the findings that are reported, and how many of the baseline are no longer found.
func (o *lintOptions) check(models []repo.Model, limits thresholds) (found []repo.Finding, fixed int, err error) {
	found, err = lint.ApplyComments(models, lint.Check(models, o.linter()))
	if err != nil {
		return nil, 0, err
	}
	found = slices.DeleteFunc(found, func(f repo.Finding) bool { return f.Severity < limits.reported })
	if o.baseline == "" || o.writeBaseline {
		return found, 0, nil
	}
	return lint.ApplyBaseline(o.baseline, models, found)
}

// runFix corrects the configurations, or prints what it would change and how much it would leave.
func runFix(p process.Process, o lintOptions, models []repo.Model, limits thresholds) error {
	every := o
	every.AllMistakes = true
	texts, err := fix.All(models, func(models []repo.Model) ([]repo.Finding, error) {
		found, _, err := every.check(models, limits)
		return found, err
	})
	if err != nil {
		return &process.ExitError{Code: process.Usage, Err: err}
	}
	changed := false
	for _, t := range texts {
		for _, conflict := range t.Conflicts {
			fmt.Fprintf(p.Stderr, "%s: %s\n", t.File, conflict)
		}
		if bytes.Equal(t.Before, t.After) {
			continue
		}
		changed = true
		if o.diff {
			if _, err := p.Stdout.Write(diff.Diff(t.File, t.Before, t.File+" (corrected)", t.After)); err != nil {
				return err
			}
			continue
		}
		if err := process.ReplaceFile(t.File, t.After); err != nil {
			return &process.ExitError{Code: process.Usage, Err: fmt.Errorf("write the corrections: %w", err)}
		}
		for _, title := range t.Fixes {
			fmt.Fprintf(p.Stderr, "%s: corrected: %s\n", t.File, title)
		}
	}
	if !o.diff {
		return nil // the findings that are left are reported
	}
	left, _, err := every.check(models, limits)
	if err != nil {
		return &process.ExitError{Code: process.Usage, Err: err}
	}
	if len(left) > 0 {
		fmt.Fprintf(p.Stderr, "left without a correction: %s\n", ui.Plural(len(left), "finding"))
	}
	if changed {
		return &process.ExitError{Code: process.Failure}
	}
	return nil
}
