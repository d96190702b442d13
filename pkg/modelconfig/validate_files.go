package modelconfig

import (
	"fmt"
	"maps"
	"slices"
)

// files checks the names of the model files, which are in the version's folder. It is this
// server's check: Triton follows "..". The names of label files, warm-up data and initial states
// are checked by package modelfile, with the files.
func (v *validator) files() {
	v.fileName("default_model_filename", v.DefaultModelFilename)
	for _, capability := range slices.Sorted(maps.Keys(v.CcModelFilenames)) {
		v.fileName(fmt.Sprintf("cc_model_filenames[%q]", capability), v.CcModelFilenames[capability])
	}
}

func (v *validator) fileName(path, name string) {
	if name != "" && !LocalName(name) {
		v.add(ruleFileName, path, "put the file, or a link to it, into the version directory and write its name",
			"%s '%s' of model '%s' is outside of the version directory", path, name, v.Name)
	}
}
