package lint

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/spelling"
)

// versions determines which version directories a server would load, and checks their names.
func (r *run) versions() {
	if r.ConfigOnly {
		return
	}
	var present []int64
	byNumber := make(map[int64]modelconfig.VersionDir)
	for _, v := range r.Versions {
		switch {
		case v.Ignored != "" && !resemblesVersion(v.Name):
			continue
		case v.Ignored != "":
			r.addFile(ruleBadVersion, r.Path(v.Name), v.Ignored, "rename it to a plain number, or move it out of the model")
			continue
		}
		present = append(present, v.Number)
		byNumber[v.Number] = v
	}
	chosen, missing := modelconfig.Select(r.config.GetVersionPolicy(), present)
	for _, n := range missing {
		r.add(ruleMissingVersion, "version_policy.specific.versions", fmt.Sprintf(
			"version %d is specified for model '%s', but the version directory is not present", n, r.Name), "add the directory or take the number out")
	}
	for _, n := range chosen {
		r.served = append(r.served, servedVersion{byNumber[n], r.Path(byNumber[n].Name)})
	}
	if len(chosen) == 0 {
		r.noVersion(present)
	}
}

// resemblesVersion reports whether a directory that is not a version was probably meant as one. The
// others hold what the model needs beside its versions.
func resemblesVersion(name string) bool {
	name = strings.TrimLeft(strings.ToLower(name), "v_-+")
	return name != "" && '0' <= name[0] && name[0] <= '9' || name == "latest"
}

// noVersion reports that no version is served.
func (r *run) noVersion(present []int64) {
	msg := fmt.Sprintf("at least one version must be available under the version policy of model '%s'", r.Name)
	hint := r.noVersionHint(present)
	if file := r.stray(); file != "" && len(present) == 0 {
		hint = fmt.Sprintf("make a directory named 1, and move %s into it", file)
	}
	if len(present) > 0 {
		r.add(ruleNoVersion, "version_policy", msg, hint)
		return
	}
	if r.weightless = true; !r.options.NoWeights {
		r.add(ruleNoVersion, "version_policy", msg, hint)
	}
}

func (r *run) noVersionHint(present []int64) string {
	switch {
	case len(present) > 0:
		return fmt.Sprintf("change version_policy, or add a version that it serves: the model has %s", listed(present))
	case !r.hasConfig() && r.stray() == "":
		return "it is not a model: move it out of the repository, or give it a config.pbtxt and a folder named 1 with the model file in it"
	}
	if r.isEnsemble() || r.written.GetEnsembleScheduling() != nil || slices.Contains(withoutFile, r.written.GetBackend()) {
		return "make an empty directory named 1"
	}
	return "make a directory named 1 with the model file in it"
}

func (r *run) hasConfig() bool {
	_, err := os.Stat(r.ConfigFile)
	return err == nil || r.Texts != nil
}

// withoutFile are the backends whose models have no file.
var withoutFile = []string{"identity", "square", "repeat", "query", "sequence", "dyna_sequence", "implicit_state"}

func listed(numbers []int64) string {
	texts := make([]string, len(numbers))
	for i, n := range slices.Sorted(slices.Values(numbers)) {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(texts, ", ")
}

// files checks that the files named by the configuration exist.
func (r *run) files() {
	if r.ConfigOnly {
		return
	}
	if file := modelconfig.ModelFile(r.config.ModelConfig); file != "" && modelconfig.NeedsModelFile(r.config.ModelConfig) && !r.isEnsemble() {
		for _, v := range r.served {
			r.modelFile(filepath.Join(v.path, file))
		}
	}
	for i, out := range r.config.Output {
		if out.LabelFilename != "" {
			r.labels(fmt.Sprintf("output[%d]", i), out)
		}
	}
}

// missingFileHint names the file that was probably meant: one of nearly the same name, or the
// only one with the same extension.
func missingFileHint(path string) string {
	const hint = "put it there, or name another with default_model_filename"
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return hint
	}
	wanted := filepath.Base(path)
	var names, alike []string
	for _, e := range entries {
		names = append(names, e.Name())
		if filepath.Ext(e.Name()) == filepath.Ext(wanted) {
			alike = append(alike, e.Name())
		}
	}
	found, ok := spelling.Nearest(wanted, names)
	if !ok && len(alike) == 1 {
		found, ok = alike[0], true
	}
	if !ok {
		return hint
	}
	return fmt.Sprintf("rename %s to %s, or write default_model_filename: %q", found, wanted, found)
}

func (r *run) modelFile(path string) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		hint := missingFileHint(path)
		if file := r.stray(); file != "" {
			hint = fmt.Sprintf("move %s into the version directory", file)
		} else if foreign := r.foreign(); foreign != "" {
			hint = foreign
		}
		r.lacksWeights(ruleModelFile, path, "the model file is missing", hint)
	case info.IsDir():
	case isPointer(path):
		r.lacksWeights(rulePointer, path, "the model file is a pointer of Git LFS: its content was not fetched", "run git lfs pull")
	case r.readable(path) && !r.isONNX() && r.config.Backend != pythonBackend:
		r.emptyFile(path)
	}
}

func (r *run) readable(path string) bool {
	f, err := modelconfig.Open(path)
	if err != nil {
		r.addFile(ruleUnreadable, path, err.Error(), "give the server's user the right to read it")
		return false
	}
	f.Close() // nothing was written
	return true
}

func (r *run) labels(field string, out *inferencepb.ModelOutput) {
	at := field + ".label_filename"
	n, err := countLines(r.Path(out.LabelFilename))
	if err != nil {
		return // modelconfig.ValidateLabels reports it
	}
	if classes := classes(out.Dims); classes > 0 && int64(n) != classes {
		r.add(ruleLabelCount, at, fmt.Sprintf("%s has %d labels, output '%s' has %d values", out.LabelFilename, n, out.Name, classes),
			"write one label per line, in the order of the values")
	}
}

// classes returns the number of values of an output item; 0 if it varies.
func classes(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		if d < 1 || n > 1<<31 {
			return 0
		}
		n *= d
	}
	return n
}

func countLines(path string) (int, error) {
	f, err := modelconfig.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n := 0
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		n++
	}
	return n, lines.Err()
}
