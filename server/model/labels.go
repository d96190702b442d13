package model

import (
	"path/filepath"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
)

// readLabels reads the class names of the outputs that have a label file.
func readLabels(dir string, c *inferencepb.ModelConfig) (map[string][]string, error) {
	labels := map[string][]string{}
	for _, out := range c.GetOutput() {
		file := out.GetLabelFilename()
		if file == "" {
			continue
		}
		if !filepath.IsLocal(file) {
			return nil, status.New(status.Unsupported, "label file path '%s' for output '%s' in model '%s' is outside model directory",
				filepath.Join(dir, file), out.GetName(), c.GetName())
		}
		path := filepath.Join(dir, file)
		text, err := modelconfig.ReadText(path)
		if err != nil {
			return nil, err
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		for i, l := range lines {
			lines[i] = strings.TrimSuffix(l, "\r")
		}
		labels[out.GetName()] = lines
	}
	return labels, nil
}
