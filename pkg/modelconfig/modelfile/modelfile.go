// Package modelfile checks the parts of a configuration that name files beside the model, together
// with those files: label files, the samples of model_warmup and the initial values of states. A
// load reports the first finding; the texts are Triton's.
package modelfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"triton/pkg/modelconfig"
	"triton/pkg/spelling"
	"triton/pkg/status"
)

const (
	ruleState  = "TRN309"
	ruleLabels = "TRN511"
	ruleWarmup = "TRN513"
)

// Rules returns the rules of this package by ID.
func Rules() []modelconfig.Rule {
	return []modelconfig.Rule{
		{ID: ruleState, Doc: "the initial value of a state fits the state"},
		{ID: ruleLabels, Doc: "label files exist inside the model's directory"},
		{ID: ruleWarmup, Doc: "warm-up samples have the inputs of the model, and their data files"},
	}
}

// checker collects findings.
type checker struct {
	*modelconfig.Config
	dir   string // of the model
	found []modelconfig.Finding
}

func (k *checker) add(rule, path, hint, format string, args ...any) {
	k.addCode(rule, status.InvalidArg, path, hint, format, args...)
}

func (k *checker) addCode(rule string, code status.Code, path, hint, format string, args ...any) {
	k.found = append(k.found, modelconfig.Finding{
		Rule: rule, Code: code, Path: path, Pos: k.Position(path), Msg: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// Labels checks the label files of the outputs of the model in dir.
func Labels(c *modelconfig.Config, dir string) []modelconfig.Finding {
	k := checker{Config: c, dir: dir}
	seen := map[string]bool{}
	for i, out := range c.GetOutput() {
		file := out.GetLabelFilename()
		if file == "" {
			continue
		}
		path := fmt.Sprintf("output[%d].label_filename", i)
		if seen[out.GetName()] {
			k.addCode(ruleLabels, status.Internal, path, "declare the output once", "multiple label files for '%s'", out.GetName())
			continue
		}
		seen[out.GetName()] = true
		if !modelconfig.LocalName(file) {
			k.addCode(ruleLabels, status.Unsupported, path, "put the file beside config.pbtxt and write its name alone",
				"label file path '%s' for output '%s' in model '%s' is outside model directory", filepath.Join(dir, file), out.GetName(), c.GetName())
			continue
		}
		if _, err := modelconfig.ReadOwn(dir, file); err != nil {
			e := status.From(err)
			k.addCode(ruleLabels, e.Code, path, k.fileHint(".", file, "put the file beside config.pbtxt"), "%s", e.Msg)
		}
	}
	return k.found
}

// fileHint names the file of a folder of the model whose name is nearest to one that is not there.
func (k *checker) fileHint(folder, name, otherwise string) string {
	entries, err := os.ReadDir(filepath.Join(k.dir, folder))
	if err != nil {
		return otherwise
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return spelling.Hint(name, names, otherwise)
}

// open opens a regular file in a folder of the model's directory, and returns its size. Links may
// not leave the model's directory.
func open(dir, folder, name string) (*os.File, int64, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, 0, err
	}
	defer root.Close()
	path := folder + "/" + name // not cleaned: x/../y needs x
	info, err := root.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errors.New("not a file")
	}
	f, err := root.Open(path)
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}
