package analyze

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"triton/analyzer/memory"
	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/modelconfig"
	"triton/pkg/ui"
)

// write writes the configuration and the requested files, and prints the result. With a result in another form on
// standard output the name of the configuration goes to standard error.
func write(p process.Process, o *options, r *memory.Result) error {
	var errs []error
	if r.Recommended != nil && o.directory != "" {
		path, err := writeConfig(o, r.Recommended.Config)
		if err == nil {
			r.Recommended.File = path
		}
		errs = append(errs, err)
	}
	if !o.targets.Stdout() {
		errs = append(errs, memory.WriteText(p.Stdout, r))
	} else if r.Recommended != nil && r.Recommended.File != "" {
		errs = append(errs, ui.WriteLine(p.Stderr, "its configuration: "+r.Recommended.File))
	}
	errs = append(errs, o.targets.Write(p, func(w io.Writer, form string) error {
		if form == flags.HTMLForm.Name {
			return pageOf(r, "triton analyze "+p.Version).WriteHTML(w)
		}
		return map[string]func(io.Writer, *memory.Result) error{
			flags.TextForm.Name: memory.WriteText, flags.JSONForm.Name: memory.WriteJSON, flags.CSVForm.Name: memory.WriteCSV,
			flags.MarkdownForm.Name: memory.WriteMarkdown,
		}[form](w, r)
	}))
	return errors.Join(errs...)
}

// tryOutputs checks before the measurements, which may take hours, that all files can be
// written. The configuration must not go into the folder of the model itself.
func tryOutputs(o *options) error {
	err := o.targets.Check()
	if o.directory != "" {
		err = errors.Join(err, tryFolder(o))
	}
	return err
}

func tryFolder(o *options) error {
	if err := os.MkdirAll(o.directory, 0o755); err != nil {
		return err
	}
	probe, err := os.MkdirTemp(o.directory, ".triton-")
	if err != nil {
		return err
	}
	if err := os.Remove(probe); err != nil {
		return err
	}
	to, err := os.Stat(filepath.Join(o.directory, o.Model))
	if err != nil {
		return nil // it is created with the first file
	}
	for _, r := range o.Repositories {
		if from, err := os.Stat(filepath.Join(r, o.Model)); err == nil && os.SameFile(from, to) {
			return fmt.Errorf("--output-directory %s is the model repository, which is only read; name another folder", o.directory)
		}
	}
	return nil
}

func writeConfig(o *options, config []byte) (string, error) {
	dir := filepath.Join(o.directory, o.Model)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, modelconfig.FileName)
	return path, os.WriteFile(path, config, 0o644)
}
