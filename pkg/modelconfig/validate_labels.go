package modelconfig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"triton/pkg/spelling"
	"triton/pkg/status"
)

// fileValidator checks what a configuration says of files beside the model, together with these files. A load reports
// the first finding; the texts are Triton's.
type fileValidator struct {
	validator
	dir string // of the model
}

// ValidateLabels checks the label files of the outputs of the model in dir.
func ValidateLabels(c *Config, dir string) []Finding {
	k := fileValidator{validator{Config: c}, dir}
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
		if !LocalName(file) {
			k.addCode(ruleLabels, status.Unsupported, path, "put the file beside config.pbtxt and write its name alone",
				"label file path '%s' for output '%s' in model '%s' is outside model directory", filepath.Join(dir, file), out.GetName(), c.GetName())
			continue
		}
		if _, err := ReadOwn(dir, file); err != nil {
			e := status.From(err)
			k.addCode(ruleLabels, e.Code, path, k.fileHint(".", file, "put the file beside config.pbtxt"), "%s", e.Msg)
		}
	}
	return k.found
}

// fileHint names the file of a folder of the model whose name is nearest to one that is not there.
func (k *fileValidator) fileHint(folder, name, otherwise string) string {
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

// openIn opens a regular file in a folder of the model's directory, and returns its size. Links may
// not leave the model's directory.
func openIn(dir, folder, name string) (*os.File, int64, error) {
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
