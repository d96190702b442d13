// Package lint holds the rules for model repositories, one file per family.
// Configurations are checked by pkg/modelconfig and compared with their graphs by
// pkg/onnxmodel/autofill, which the server uses too. This package adds rules for files,
// versions and settings that load but do not do what was intended. It prints nothing.
package lint

import (
	"slices"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/onnxmodel"
	"triton/repo"
)

// Options describe the server that will serve the repository.
type Options struct {
	// CPUs is the number of processors; 0 skips the rules about them.
	CPUs int
	// DefaultMaxBatch is the server's default-max-batch-size.
	DefaultMaxBatch int
	// Python is the interpreter that reads Python models without running them; empty
	// skips the rules about them.
	Python string
}

// Check runs every rule on the models of one repository. The findings are sorted by
// file and line.
func Check(models []repo.Model, o Options) []repo.Finding {
	names := make(map[string]bool, len(models))
	for i := range models {
		names[models[i].Name] = true
	}
	var runs []*run
	known := modelRuns{}
	for i := range models {
		for n, m := range variants(models[i]) {
			r := &run{Model: &m, options: o, peers: names}
			r.check()
			runs = append(runs, r)
			if n == 0 {
				known[m.Name] = r
			}
		}
	}
	python(o.Python, runs)
	var found []repo.Finding
	for _, r := range runs {
		r.ensemble(known)
		found = append(found, r.found...)
	}
	slices.SortStableFunc(found, repo.Compare)
	return slices.Compact(found)
}

// variants returns the model with each of its configurations.
func variants(m repo.Model) []repo.Model {
	list := []repo.Model{m}
	custom, err := m.CustomConfigs()
	if err != nil {
		return list // the pattern is always valid: CustomConfigs escapes the directory
	}
	for _, path := range custom {
		v := m
		v.ConfigFile = path
		list = append(list, v)
	}
	return list
}

// run is the check of one model.
type run struct {
	*repo.Model
	options Options
	peers   map[string]bool // names of the models of the repository
	found   []repo.Finding

	written *modelconfig.Config // as written in the file
	config  *modelconfig.Config // as a server completes it
	served  []servedVersion     // the versions that would be served
	graph   *onnxmodel.Model    // of the highest of them; nil for other backends
}

type servedVersion struct {
	modelconfig.VersionDir
	path string
}

func (r *run) check() {
	if !r.parse() {
		return
	}
	r.name()
	r.versions()
	r.agents()
	if !r.detect() {
		return
	}
	r.config.Normalize()
	r.files()
	r.trees()
	r.programName()
	r.graphs()
	r.config.Normalize()
	r.validate()
	r.tensors()
	r.batching()
	r.groups()
	r.parameters()
	r.noEffect()
	r.extensions()
}

// add reports a finding at a field of the configuration.
func (r *run) add(rule repo.Rule, field, msg, hint string) {
	f := repo.Finding{Rule: rule.ID, Severity: rule.Severity, Model: r.Name, File: r.ConfigFile, Field: field, Msg: msg, Hint: hint}
	if r.written != nil {
		p := r.written.Position(field)
		f.Line, f.Col = p.Line, p.Col
	}
	r.found = append(r.found, f)
}

// addFile reports a finding about a file or directory.
func (r *run) addFile(rule repo.Rule, path, msg, hint string) {
	r.found = append(r.found, repo.Finding{
		Rule: rule.ID, Severity: rule.Severity, Model: r.Name, File: path, Msg: msg, Hint: hint,
	})
}

// addAll reports findings of the packages that the server uses too; such findings stop
// a load.
func (r *run) addAll(found []modelconfig.Finding) {
	for _, f := range found {
		r.add(repo.Rule{ID: f.Rule, Severity: repo.Error}, f.Path, f.Msg, f.Hint)
	}
}

func (r *run) isEnsemble() bool { return r.config.Platform == "ensemble" }

func (r *run) isONNX() bool { return r.config.Backend == "onnxruntime" }

// validate runs the checks of a load on a machine that has every GPU in the
// configuration: the linter does not know the machine that will serve.
func (r *run) validate() {
	r.addAll(r.config.Validate())
	r.addAll(r.config.ValidateIO())
	if r.isONNX() { // which other backends the server has is not known here
		r.addAll(r.config.ValidateRuntime())
	}
	var machine modelconfig.Machine
	for _, g := range r.config.InstanceGroup {
		if g.Kind == inferencepb.ModelInstanceGroup_KIND_GPU {
			machine.GPUs = append(machine.GPUs, 0)
		}
		if g.Kind == inferencepb.ModelInstanceGroup_KIND_GPU || g.Kind == inferencepb.ModelInstanceGroup_KIND_AUTO {
			machine.GPUs = append(machine.GPUs, slices.DeleteFunc(slices.Clone(g.Gpus), func(id int32) bool { return id < 0 })...)
		}
	}
	slices.Sort(machine.GPUs)
	machine.GPUs = slices.Compact(machine.GPUs)
	r.config.NormalizeInstanceGroups(machine)
	r.addAll(r.config.ValidateInstanceGroups(machine))
}
