package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/extension"
	"triton/pkg/modelconfig/requirement"
	"triton/pkg/spelling"
	"triton/repo"
)

// shippedPython are the backends of this program that one of the same name in the backend directory
// replaces.
var shippedPython = []string{"pytorch", "tensorflow", "openvino", "fil", "xgboost", "lightgbm", "sklearn"}

// elsewhere are backends of NVIDIA's server and its containers that this program does not have.
var elsewhere = []string{
	"tensorrt", "tensorrtllm", "vllm", "dali", "onnxruntime", "python", "pytorch", "tensorflow", "openvino", "fil", "identity", "square", "repeat",
	"armnn_tflite", "paddle", "ort_rust", "hugectr", "hps", "fastertransformer", "stateful", "transformer_engine", "rapids_identity", "minimal", "recommended",
}

// backend checks that the server has the backend. Without Options.Backends, one that NVIDIA's server
// has and this program has not is only a note.
func (r *run) backend() {
	if r.isEnsemble() || r.config.Backend == "" || r.written.Backend == "" && len(r.served) == 0 && !r.ConfigOnly {
		return // without versions, the backend is only a guess
	}
	has := r.options.Backends
	if has == nil {
		has = requirement.Backends()
	}
	found := r.findBackend(has)
	for _, f := range found {
		if f.Path != "backend" {
			r.addAll([]modelconfig.Finding{f})
			continue
		}
		if r.options.Backends == nil && slices.Contains(elsewhere, r.config.Backend) {
			r.add(ruleElsewhere, "backend", fmt.Sprintf("this server has no backend '%s', which NVIDIA's has", r.config.Backend),
				"name the backends of your server with --backends")
			continue
		}
		f.Hint = fmt.Sprintf("use one of %s, or name the backends of your server with --backends", strings.Join(has, ", "))
		known := slices.Clone(has)
		if r.options.Backends == nil {
			known = append(known, elsewhere...)
		}
		if near, ok := spelling.Nearest(r.config.Backend, known); ok {
			f.Hint = fmt.Sprintf("did you mean %q?", near)
		}
		r.add(repo.Rule{ID: f.Rule, Severity: repo.Error}, f.Path, f.Msg, f.Hint)
	}
}

// findBackend returns what the first version says that does not find its backend: each may have a
// library of its own.
func (r *run) findBackend(has []string) (found []modelconfig.Finding) {
	search := requirement.Search{
		Has: func(name string) (bool, bool) {
			return slices.Contains(has, name), slices.Contains(shippedPython, name)
		},
		Directory: r.options.BackendDirectory,
		Model:     []string{r.Dir},
	}
	if len(r.served) == 0 {
		_, found = requirement.Find(r.config, search)
	}
	for _, v := range r.served {
		search.Model = []string{v.path, r.Dir}
		if _, found = requirement.Find(r.config, search); len(found) > 0 {
			break
		}
	}
	return found
}

// requirements runs the checks of the backend and of the files that the configuration names.
func (r *run) requirements() {
	if !r.isEnsemble() {
		r.addAll(requirement.Check(r.config.Backend, r.config))
		for _, f := range requirement.Ignored(r.config.Backend, r.config) {
			r.add(ruleParameter, f.Path, f.Msg+": the server leaves it out", f.Hint)
		}
	}
	if r.ConfigOnly {
		return
	}
	r.addAll(modelconfig.ValidateLabels(r.config, r.Dir))
	if r.isEnsemble() {
		return
	}
	for _, v := range r.served {
		found := requirement.Files(r.config.Backend, r.config, v.path)
		if _, err := os.Stat(filepath.Join(v.path, requirement.Vocabulary(r.config.ModelConfig))); r.options.NoWeights && len(found) > 0 && err != nil {
			r.weightless = true
			continue
		}
		r.addAll(found)
	}
	r.addAll(r.withoutLeftOut(modelconfig.ValidateStates(r.config, r.Dir)))
	settings, _ := extension.Read(r.config)
	c := *r.config
	c.ModelConfig = settings.RequestConfig(r.config.ModelConfig)
	found := r.withoutLeftOut(modelconfig.ValidateWarmup(&c, r.Dir))
	if len(found) == 0 {
		found = append(modelconfig.ValidateWarmupBatches(&c), requirement.Samples(r.config.Backend, &c)...)
	}
	r.addAll(found)
}
