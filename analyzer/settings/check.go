package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// problems collects mistakes.
type problems struct{ all []error }

func (c *problems) add(format string, args ...any) {
	c.all = append(c.all, fmt.Errorf(format, args...))
}

func (c *problems) join() error { return errors.Join(c.all...) }

func contains(all []string, s string) bool { return slices.Contains(all, s) }

// check returns the mistakes in what the user has set.
func (p *Profile) check(host Host) error {
	c := &problems{}
	p.checkRequired(c)
	p.checkRanges(c)
	p.checkPaths(c, host)
	p.checkSearch(c)
	p.checkLoads(c)
	p.checkServer(c)
	if p.Output.TopConfigs > 0 && len(p.Global.Constraints) == 0 && p.LatencyBudget == 0 && p.MinThroughput == 0 {
		c.add("If setting num_top_model_configs > 0, comparison across models is requested. " +
			"This requires that global constraints be specified in the config to be used as default.")
	}
	return c.join()
}

func (p *Profile) checkRequired(c *problems) {
	if len(p.Models) == 0 {
		c.add("Config for profile_models is not specified. You need to specify it using the YAML config file or using the --profile-models flags in CLI.")
	}
	if p.ModelRepository == "" && p.Server.LaunchMode != Remote && !p.Analyze {
		c.add("No model repository specified. Please specify it using the YAML config file or using the --model-repository flag in CLI.")
	}
	if p.set["weighting"] {
		c.add("Weighting can not be specified as a global parameter. Please make this a model parameter.")
	}
	for _, list := range [][]Model{p.Models, p.BLSComposing, p.EnsembleComposing} {
		checkNames(c, list)
	}
}

func checkNames(c *problems, models []Model) {
	count := map[string]int{}
	for _, m := range models {
		count[m.Name]++
		if m.Name == "" || m.Name == "." || m.Name == ".." || strings.ContainsAny(m.Name, "/\\\x00") {
			c.add("%q is not the name of a model", m.Name)
		}
	}
	maps.DeleteFunc(count, func(_ string, n int) bool { return n == 1 })
	if len(count) > 0 {
		c.add("Duplicate model names detected: ['%s']", joinQuoted(sortedKeys(count)))
	}
}

func (p *Profile) checkRanges(c *problems) {
	s := p.Search
	for _, r := range []struct {
		name string
		Range
	}{
		{"run_config_search_%s_concurrency", s.Concurrency},
		{"run_config_search_%s_request_rate", s.RequestRate},
		{"run_config_search_%s_instance_count", s.InstanceCount},
		{"run_config_search_%s_model_batch_size", s.ModelBatchSize},
		{"%s_percentage_of_search_space", s.PercentageOfSpace},
		{"optuna_%s_trials", s.Trials},
	} {
		if r.Min > r.Max {
			c.add("%s is %d, which is greater than %s, which is %d",
				fmt.Sprintf(r.name, "min"), r.Min, fmt.Sprintf(r.name, "max"), r.Max)
		}
	}
}

// checkPaths checks files and folders that must exist, or must not.
func (p *Profile) checkPaths(c *problems, host Host) {
	if p.ModelRepository != "" {
		exists(c, "model_repository", p.ModelRepository)
	}
	parentExists(c, "checkpoint_directory", p.CheckpointDirectory)
	parentExists(c, "export_path", p.Output.ExportPath)
	if info, err := os.Stat(p.Output.ExportPath); err == nil && !info.IsDir() {
		c.add("Export path %s is not a directory.", p.Output.ExportPath)
	}
	if path := p.Client.Path; path != "" {
		if _, err := host.LookPath(path); err != nil {
			c.add("Failed to set the value for field %q. Error: Either the binary '%s' is not on the PATH, or Model Analyzer does not have permissions to execute os.stat on this path.",
				"perf_analyzer_path", path)
		}
	}
	for key, name := range map[string]string{
		"filename_model_inference": p.Output.FilenameInference,
		"filename_model_gpu":       p.Output.FilenameGPU,
		"filename_server_only":     p.Output.FilenameServerOnly,
	} {
		if name == "" || name != filepath.Base(name) || name == "." || name == ".." {
			c.add("Failed to set the value for field %q. Error: %q is not the name of a file", key, name)
		}
	}
	p.checkOutputRepository(c)
}

func (p *Profile) checkOutputRepository(c *problems) {
	path := p.OutputModelRepository
	if p.Analyze && p.ModelRepository == "" {
		return // nothing is generated
	}
	if path == "" {
		c.add("output_model_repository_path is empty")
		return
	}
	if _, err := os.Lstat(path); err != nil {
		return
	}
	if !p.OverrideOutput {
		c.add(`Path "%s" already exists. Please set or modify "--output-model-repository-path" flag or remove this directory.`+
			` You can also allow overriding of the output directory using the "--override-output-model-repository" flag.`, path)
		return
	}
	// The folder will be deleted. What a profile makes again in it is no loss.
	needed := []string{p.ModelRepository, "."}
	if !holdsOnly(p.Output.ExportPath, "plots", "reports", "results", "perf_analyzer_error.log") {
		needed = append(needed, p.Output.ExportPath)
	}
	if !holdsOnly(p.CheckpointDirectory) {
		needed = append(needed, p.CheckpointDirectory)
	}
	for _, needed := range needed {
		if needed != "" && within(needed, path) {
			c.add("output_model_repository_path %q would be deleted, but %q is in it; name a folder of its own", path, needed)
			return
		}
	}
}

// holdsOnly reports whether a folder has nothing but entries of some names, or does not exist.
func holdsOnly(path string, names ...string) bool {
	entries, err := os.ReadDir(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return !slices.Contains(names, e.Name()) })
}

// within reports whether a path is a folder or is in it.
func within(path, folder string) bool {
	rel, err := filepath.Rel(resolve(folder), resolve(path))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// resolve returns the absolute path without symbolic links, as far as it exists.
func resolve(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	if parent := filepath.Dir(abs); parent != abs {
		return filepath.Join(resolve(parent), filepath.Base(abs))
	}
	return abs
}

func exists(c *problems, key, path string) {
	if _, err := os.Stat(path); err != nil {
		c.add("Failed to set the value for field %q. Error: Either '%s' is a nonexistent path, or Model Analyzer does not have permissions to execute os.stat on this path", key, path)
	}
}

func parentExists(c *problems, key, path string) {
	abs, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(filepath.Dir(abs))
	}
	if err != nil || path == "" {
		c.add("Failed to set the value for field %q. Error: Either the parent directory for '%s' does not exist, or Model Analyzer does not have permissions to execute os.stat on this path.", key, path)
	}
}

func (p *Profile) checkServer(c *problems) {
	v := p.Server
	if p.DCGMDisable && v.LaunchMode != Remote {
		c.add("If `dcgm-disable` then `triton-launch-mode` must be set to remote")
	}
	if v.LaunchMode == Remote {
		endpoint := map[string]string{"http": v.HTTPEndpoint, "grpc": v.GRPCEndpoint}
		if endpoint[p.Client.Protocol] == "" {
			c.add("client-protocol is '%[1]s'. Must specify triton-%[1]s-endpoint if connecting to already running server or change protocol using --client-protocol.", p.Client.Protocol)
		}
	}
	if v.LaunchMode != Docker {
		return
	}
	if slices.ContainsFunc(v.DockerMounts, func(m string) bool { return strings.Count(m, ":") != 2 }) {
		c.add("triton_docker_mounts needs to be a list of strings. Each string should be of the format <host path>:<container dest>:<access mode>")
	}
	if strings.TrimSpace(v.DockerImage) == "" {
		c.add("triton_docker_image provided but is empty.")
	}
}

func (r *Report) check() error {
	c := &problems{}
	if len(r.Configs) == 0 {
		c.add("Config for report_model_configs is not specified. You need to specify it using the YAML config file or using the -n, --report-model-configs flags in CLI.")
	}
	parentExists(c, "checkpoint_directory", r.CheckpointDirectory)
	exists(c, "export_path", r.ExportPath)
	if info, err := os.Stat(r.ExportPath); err == nil && !info.IsDir() {
		c.add("Export path %s is not a directory.", r.ExportPath)
	}
	return c.join()
}

// checkComplete returns the mistakes that show when models have all their values.
func (p *Profile) checkComplete() error {
	c := &problems{}
	for _, m := range p.Models {
		own := m.IsSet("parameters.concurrency") || m.IsSet("parameters.request_rate")
		if own && len(m.Concurrency) > 0 && len(m.RequestRate) > 0 {
			c.add("Cannot specify both concurrency and request rate as model parameters.")
			break
		}
	}
	for _, m := range p.Models {
		loads := []string{}
		for _, name := range []string{"concurrency-range", "request-rate-range", "request-intervals"} {
			if _, ok := m.PerfFlags.Get(name); ok {
				loads = append(loads, name)
			}
		}
		if len(loads) > 1 {
			c.add("perf_analyzer_flags of model %s: only one of %s can be given", m.Name, strings.Join(loads, ", "))
		}
	}
	if p.Search.ConcurrentModels && len(p.Models) > 1 {
		first := p.Models[0]
		if slices.ContainsFunc(p.Models, func(m Model) bool { return !sameFlags(m.ServerFlags, first.ServerFlags) }) {
			c.add("Triton server flags must be the same for all models to run concurrently")
		}
		if slices.ContainsFunc(p.Models, func(m Model) bool { return !maps.Equal(m.ServerEnvironment, first.ServerEnvironment) }) {
			c.add("Mismatching triton server environments. The triton server environment must be the same for all models when run concurrently")
		}
	}
	if p.Search.Mode == Quick {
		p.checkQuick(c)
	}
	return c.join()
}

func sameFlags(a, b Flags) bool {
	asMap := func(f Flags) map[string][]string {
		all := map[string][]string{}
		for _, flag := range f {
			all[flag.Name] = flag.Values
		}
		return all
	}
	return reflect.DeepEqual(asMap(a), asMap(b))
}
