package analyze

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"triton/analyzer"
	"triton/analyzer/report"
	"triton/cmd/cli/process"
	"triton/pkg/modelconfig"
)

// write prints the result and writes the requested files.
func write(p process.Process, o *options, r *analyzer.Result) error {
	errs := []error{report.Text(p.Stdout, r)}
	if o.csv != "" {
		errs = append(errs, writeReport(o.csv, r, report.CSV))
	}
	if o.json != "" {
		errs = append(errs, writeReport(o.json, r, report.JSON))
	}
	if len(r.Config) > 0 && o.output != "" {
		path, err := writeConfig(o, r.Config)
		if err == nil {
			fmt.Fprintf(p.Stdout, "its configuration: %s\n", path)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func writeReport(path string, r *analyzer.Result, print func(io.Writer, *analyzer.Result) error) error {
	return process.WriteFile(path, func(f io.Writer) error { return print(f, r) })
}

// tryOutputs checks before the measurements, which may take hours, that all files can be
// written. The configuration must not go into the folder of the model itself.
func tryOutputs(o *options) error {
	var errs []error
	for _, path := range []string{o.csv, o.json} {
		if path == "" {
			continue
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
		if err == nil {
			err = f.Close()
		}
		errs = append(errs, err)
	}
	if o.output != "" {
		errs = append(errs, tryFolder(o))
	}
	return errors.Join(errs...)
}

func tryFolder(o *options) error {
	if err := os.MkdirAll(o.output, 0o755); err != nil {
		return err
	}
	probe, err := os.MkdirTemp(o.output, ".triton-")
	if err != nil {
		return err
	}
	if err := os.Remove(probe); err != nil {
		return err
	}
	to, err := os.Stat(filepath.Join(o.output, o.Model))
	if err != nil {
		return nil // it is created with the first file
	}
	for _, r := range o.Repositories {
		if from, err := os.Stat(filepath.Join(r, o.Model)); err == nil && os.SameFile(from, to) {
			return fmt.Errorf("--output-directory %s is the model repository, which is only read; name another folder", o.output)
		}
	}
	return nil
}

func writeConfig(o *options, config []byte) (string, error) {
	dir := filepath.Join(o.output, o.Model)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, modelconfig.FileName)
	return path, os.WriteFile(path, config, 0o644)
}
