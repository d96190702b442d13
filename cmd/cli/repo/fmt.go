package repo

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/pbtxt"
	"triton/repo"
)

// fmtOptions holds what the flags of fmt set.
type fmtOptions struct {
	write, check, diff bool
	fromJSON           bool
	stdinPath          string
	config             string
}

func (o *fmtOptions) bind(f *flags.Set) {
	f.BoolVarP(&o.write, "write", "w", false, "write the result into the files, and print the names of those that changed")
	f.BoolVar(&o.check, "check", false, "print the names of files that are not formatted; the exit code is 1 if there are any")
	f.BoolVarP(&o.diff, "diff", "d", false, "print the changes; the exit code is 1 if there are any, unless -w is given")
	f.BoolVar(&o.fromJSON, "from-json", false, "convert configurations in JSON, as a server shows them, into protobuf text")
	f.StringVar(&o.stdinPath, "stdin-path", modelconfig.FileName, "with the path -: the name of standard input in messages")
	f.StringVar(&o.config, "config", "", configUsage)
}

func newFmtCommand(p process.Process) *cobra.Command {
	var o fmtOptions
	cmd := &cobra.Command{
		Use:   "fmt PATH...",
		Short: "Format configurations; comments stay",
		Long: `Write config.pbtxt in one style: two spaces for each level, a field on each
line, lists of numbers on one line, a message on one line where it is written so
and fits in 100 columns. Comments, blank lines and the order of the fields stay,
and the result means the same. A PATH is a repository, one model's directory,
one config.pbtxt, or - for standard input.

Without a flag the result is printed. The exit code is 0, 1 when --check or
--diff finds something, and 2 when the command line is wrong or a file is no
configuration.`,
		Example: `  triton repo fmt -w models/
  triton repo fmt --check models/
  triton repo fmt --diff models/resnet50
  triton repo fmt - < draft.pbtxt
  curl localhost:8000/v2/models/resnet50/config | triton repo fmt --from-json -`,
	}
	f := flags.New(p, "repo fmt", cmd.Flags())
	o.bind(f)
	flags.Complete(cmd, map[string]flags.Completion{})
	f.FillBefore(cmd, &o.config)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return process.UsageError("repo fmt takes the path of a repository, a model or a %s", modelconfig.FileName)
		case o.check && (o.write || o.diff):
			return process.UsageError("--check excludes --write and --diff")
		}
		return runFmt(p, o, args)
	}
	return cmd
}

func runFmt(p process.Process, o fmtOptions, paths []string) error {
	models, err := openModels(p, paths, o.stdinPath)
	if err != nil {
		return err
	}
	var errs []error
	changed := false
	for _, file := range configurations(models) {
		same, err := formatFile(p, o, file)
		if err != nil {
			errs = append(errs, err)
		}
		changed = changed || !same
	}
	switch {
	case len(errs) > 0:
		return &process.ExitError{Code: process.Usage, Err: errors.Join(errs...)}
	case changed && !o.write && (o.check || o.diff):
		return &process.ExitError{Code: process.Failure}
	}
	return nil
}

// configurations returns the models again for each of their configurations: config.pbtxt, and
// those of the folder configs. Standard input is one configuration.
func configurations(models []repo.Model) []repo.Model {
	var list []repo.Model
	seen := map[string]bool{}
	for _, m := range models {
		var custom []string
		if m.Texts == nil {
			custom, _ = m.CustomConfigs() // the pattern is always valid: CustomConfigs escapes the directory
		}
		for _, file := range append([]string{m.ConfigFile}, custom...) {
			m.ConfigFile = file
			if !seen[file] {
				seen[file] = true
				list = append(list, m)
			}
		}
	}
	return list
}

// formatFile formats one configuration, if there is one, and reports whether it was formatted
// before.
func formatFile(p process.Process, o fmtOptions, m repo.Model) (same bool, err error) {
	src, err := m.ReadConfig()
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // the server completes the configuration
	}
	if err != nil {
		return true, err
	}
	text := src
	if o.fromJSON {
		if text, err = fromJSON(m.ConfigFile, src); err != nil {
			return true, err
		}
	}
	out, err := pbtxt.Format(m.ConfigFile, text)
	if err != nil {
		return true, err
	}
	same = bytes.Equal(src, out)
	return same, o.show(p, m, src, out)
}

// fromJSON returns a configuration in JSON as protobuf text, and any other text as it is.
func fromJSON(file string, src []byte) ([]byte, error) {
	if !bytes.HasPrefix(bytes.TrimSpace(src), []byte("{")) {
		return src, nil
	}
	c, err := modelconfig.ParseJSON(file, src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return modelconfig.Encode(c.ModelConfig), nil
}

// show prints or writes one result.
func (o *fmtOptions) show(p process.Process, m repo.Model, src, out []byte) error {
	same := bytes.Equal(src, out)
	if !o.write && !o.check && !o.diff {
		_, err := p.Stdout.Write(out)
		return err
	}
	if same {
		return nil
	}
	switch {
	case o.diff:
		if _, err := p.Stdout.Write(diff.Diff(m.ConfigFile, src, m.ConfigFile+" (formatted)", out)); err != nil {
			return err
		}
	default:
		fmt.Fprintln(p.Stdout, m.ConfigFile)
	}
	if !o.write {
		return nil
	}
	if m.Texts != nil {
		return errors.New("standard input cannot be written: leave out -w")
	}
	return process.ReplaceFile(m.ConfigFile, out)
}
