package lint

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triton/pkg/modelconfig"
	"triton/repo"
)

// pointerHeader begins a file that Git LFS writes in place of one whose content it did not fetch.
const pointerHeader = "version https://git-lfs.github.com/spec/"

// isPointer reports whether a file is a pointer of Git LFS.
func isPointer(path string) bool {
	f, err := modelconfig.Open(path)
	if err != nil {
		return false
	}
	defer f.Close() // nothing was written
	head := make([]byte, len(pointerHeader))
	n, _ := io.ReadFull(f, head)
	return bytes.Equal(head[:n], []byte(pointerHeader))
}

// lacksWeights records a finding about a missing model file. A checkout without its weights is
// linted for the rest: with Options.NoWeights the repository gets one note instead.
func (r *run) lacksWeights(rule repo.Rule, path, msg, hint string) {
	r.weightless = true
	if !r.options.NoWeights {
		r.addFile(rule, path, msg, hint)
	}
}

// withoutLeftOut removes the findings about data files that were left out with the weights. Those are, with
// Options.NoWeights, files that are missing or pointers of Git LFS: of the version folders, the samples in warmup and the
// states in initial_state. Labels are text, and part of a checkout without weights.
func (r *run) withoutLeftOut(found []modelconfig.Finding) []modelconfig.Finding {
	if !r.options.NoWeights {
		return found
	}
	files := map[string]string{}
	for i, w := range r.config.ModelWarmup {
		for name, in := range w.Inputs {
			if file := in.GetInputDataFile(); modelconfig.LocalName(file) {
				files[fmt.Sprintf("model_warmup[%d].inputs[%q].input_data_file", i, name)] = r.Path("warmup", file)
			}
		}
	}
	for i, s := range r.config.GetSequenceBatching().GetState() {
		for j, initial := range s.InitialState {
			if file := initial.GetDataFile(); modelconfig.LocalName(file) {
				files[fmt.Sprintf("sequence_batching.state[%d].initial_state[%d].data_file", i, j)] = r.Path("initial_state", file)
			}
		}
	}
	return slices.DeleteFunc(found, func(f modelconfig.Finding) bool {
		path := files[f.Path]
		if path == "" {
			return false
		}
		_, err := os.Stat(path)
		leftOut := errors.Is(err, fs.ErrNotExist) || isPointer(path)
		r.weightless = r.weightless || leftOut
		return leftOut
	})
}

// weightless returns a note for each repository with models whose weights are not there.
func weightless(runs []*run) []repo.Finding {
	models := map[string][]string{}
	for _, r := range runs {
		if r.weightless && !slices.Contains(models[r.Repository], r.Name) {
			models[r.Repository] = append(models[r.Repository], r.Name)
		}
	}
	var found []repo.Finding
	for _, r := range runs {
		names := models[r.Repository]
		if names == nil || !r.options.NoWeights {
			continue
		}
		delete(models, r.Repository)
		found = append(found, repo.Finding{
			Rule: ruleNoWeights.ID, Severity: ruleNoWeights.Severity, File: r.Dir,
			Msg:  fmt.Sprintf("the model files of %s are not there, and are not checked", shortList(names)),
			Hint: "fetch them, such as with git lfs pull",
		})
	}
	return found
}

// shortList joins names, the first few of many.
func shortList(names []string) string {
	const most = 3
	if len(names) > most {
		return fmt.Sprintf("%s and %d others", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// misplaced reports files that are beside the place where the server looks for them.
func (r *run) misplaced() {
	if r.ConfigOnly {
		return
	}
	for _, v := range r.Versions {
		path := r.Path(v.Name, modelconfig.FileName)
		if info, err := os.Stat(path); v.Ignored == "" && err == nil && !info.IsDir() {
			r.addFile(ruleMisplaced, path, "the server does not read a config.pbtxt in a version directory", "move it beside the version directories")
		}
	}
	if file := r.stray(); file != "" {
		r.addFile(ruleMisplaced, r.Path(file), "the server looks for the model file in the version directories only", "move it into the directory "+r.firstVersion())
	}
}

// modelFiles are the model files of backends, by their usual names.
var modelFiles = []string{
	"model.onnx", "model.plan", "model.graphdef", "model.savedmodel", "model.xml", "model.bin", "model.pt", "model.pt2", "model.py",
}

// stray returns the model file that is beside the configuration while no version has one; empty:
// there is none.
func (r *run) stray() string {
	file := ""
	for _, name := range modelFiles {
		if _, err := os.Stat(r.Path(name)); err == nil {
			file = name
			break
		}
	}
	for _, v := range r.served {
		if _, err := os.Stat(filepath.Join(v.path, file)); err == nil {
			return ""
		}
	}
	return file
}

func (r *run) firstVersion() string {
	if len(r.served) > 0 {
		return r.served[0].Name
	}
	return "1"
}
