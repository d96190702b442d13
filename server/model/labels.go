package model

import (
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// readLabels reads the class names of the outputs that have a label file.
func readLabels(dir string, c *inferencepb.ModelConfig) (map[string][]string, error) {
	if err := modelconfig.FirstError(modelconfig.ValidateLabels(modelconfig.New("", c), dir)); err != nil {
		return nil, err
	}
	labels := map[string][]string{}
	for _, out := range c.GetOutput() {
		file := out.GetLabelFilename()
		if file == "" {
			continue
		}
		text, err := modelconfig.ReadOwn(dir, file)
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
