package onnx

import (
	"sort"
	"strconv"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/backend"
)

// Graph optimization levels and execution modes, with ONNX Runtime's numbers.
const (
	levelDisable  = 0
	levelBasic    = 1
	levelExtended = 2
	levelAll      = 99

	modeSequential = 0
	modeParallel   = 1
)

// pair is one key and value of ONNX Runtime's configuration.
type pair struct{ key, value string }

// options are the session settings that a configuration makes.
type options struct {
	level        int
	mode         int
	intra, inter int   // 0: not set
	arena        *bool // nil: ONNX Runtime's default
	pattern      *bool
	entries      []pair // session configuration entries
	runEntries   []pair
	libraries    []string // of custom operators
	cuda         []pair
}

// parseOptions reads the parameters and the optimization section. gpu says whether the
// session is for a GPU.
func parseOptions(spec backend.Spec, gpu bool) (*options, error) {
	cfg := spec.Config
	o := &options{level: level(cfg.GetOptimization()), libraries: cfg.GetModelOperations().GetOpLibraryFilename()}
	p := parameters{values: cfg.GetParameters()}
	p.integer("execution_mode", &o.mode)
	if p.err == nil && o.mode != modeSequential && o.mode != modeParallel {
		p.err = status.New(status.InvalidArg,
			"Invalid configuration value provided. Expected values for  execution_mode are 0 or 1 but got %d .", o.mode)
	}
	p.integer("intra_op_thread_count", &o.intra)
	p.integer("inter_op_thread_count", &o.inter)
	p.boolean("enable_mem_arena", &o.arena)
	p.boolean("enable_mem_pattern", &o.pattern)
	if v, ok := p.get("memory.enable_memory_arena_shrinkage"); ok {
		o.runEntries = append(o.runEntries, pair{"memory.enable_memory_arena_shrinkage", v})
	}
	for key := range cfg.GetParameters() {
		if v, _ := p.get(key); strings.HasPrefix(key, "session.") {
			o.entries = append(o.entries, pair{key, v})
		}
	}
	sort.Slice(o.entries, func(i, j int) bool { return o.entries[i].key < o.entries[j].key })
	if p.err != nil {
		return nil, p.err
	}
	return o, o.accelerators(cfg, gpu)
}

func level(opt *inferencepb.ModelOptimizationPolicy) int {
	switch opt.GetGraph().GetLevel() {
	case -1:
		return levelBasic
	case 1:
		return levelExtended
	case 2:
		return levelDisable
	}
	return levelAll
}

// accelerators reads the execution accelerators and, for a GPU, the older form of the
// CUDA options. If both set the same option the accelerator's entry wins.
func (o *options) accelerators(cfg *inferencepb.ModelConfig, gpu bool) error {
	accelerators := cfg.GetOptimization().GetExecutionAccelerators()
	for _, a := range accelerators.GetCpuExecutionAccelerator() {
		return unknownAccelerator(a.GetName())
	}
	if !gpu {
		return nil
	}
	set := map[string]string{}
	if err := legacyCUDA(cfg.GetParameters(), set); err != nil {
		return err
	}
	for _, a := range accelerators.GetGpuExecutionAccelerator() {
		if a.GetName() != "cuda" {
			return unknownAccelerator(a.GetName())
		}
		for key, value := range a.GetParameters() {
			if key == "do_copy_in_default_stream" || key == "use_ep_level_unified_stream" {
				if _, err := parseBool(value); err != nil {
					return err
				}
			}
			set[key] = value
		}
	}
	for key, value := range set {
		o.cuda = append(o.cuda, pair{key, value})
	}
	sort.Slice(o.cuda, func(i, j int) bool { return o.cuda[i].key < o.cuda[j].key })
	return nil
}

func unknownAccelerator(name string) error {
	return status.New(status.InvalidArg, "unknown Execution Accelerator '%s' is requested", name)
}

// legacyCUDA reads the CUDA options among the parameters.
func legacyCUDA(values map[string]*inferencepb.ModelParameter, set map[string]string) error {
	p := parameters{values: values}
	p.choice("cudnn_conv_algo_search", []string{"EXHAUSTIVE", "HEURISTIC", "DEFAULT"}, set)
	p.choice("arena_extend_strategy", []string{"kNextPowerOfTwo", "kSameAsRequested"}, set)
	for _, key := range []string{"gpu_mem_limit", "do_copy_in_default_stream"} {
		if v, ok := p.get(key); ok {
			if _, err := strconv.ParseUint(v, 10, 64); err != nil {
				p.fail(notIntegral(v))
			}
			set[key] = v
		}
	}
	return p.err
}

// defaultMaxBatch returns the backend setting for models that can batch and have no
// max_batch_size.
func defaultMaxBatch(settings map[string]string) (int, error) {
	v, ok := settings["default-max-batch-size"]
	if !ok {
		return 4, nil
	}
	n, err := leadingInteger(v)
	if err != nil {
		return 0, notIntegral(v)
	}
	return max(n, 0), nil
}

// parameters reads values of the parameters section and keeps the first error.
type parameters struct {
	values map[string]*inferencepb.ModelParameter
	err    error
}

func (p *parameters) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *parameters) get(key string) (string, bool) {
	v, ok := p.values[key]
	return v.GetStringValue(), ok
}

func (p *parameters) integer(key string, to *int) {
	v, ok := p.get(key)
	if !ok {
		return
	}
	n, err := leadingInteger(v)
	if err != nil {
		p.fail(notIntegral(v))
	}
	*to = n
}

// leadingInteger returns the number that a text begins with, after blanks. Like Triton
// it ignores what follows.
func leadingInteger(v string) (int, error) {
	v = strings.TrimLeft(v, " \t\n\v\f\r")
	end := 0
	if v != "" && (v[0] == '-' || v[0] == '+') {
		end++
	}
	for end < len(v) && '0' <= v[end] && v[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(v[:end], 10, 32)
	return int(n), err
}

func (p *parameters) boolean(key string, to **bool) {
	v, ok := p.get(key)
	if !ok {
		return
	}
	b, err := parseBool(v)
	if err != nil {
		p.fail(err)
	}
	*to = &b
}

func (p *parameters) choice(key string, names []string, set map[string]string) {
	v, ok := p.get(key)
	if !ok {
		return
	}
	n, err := leadingInteger(v)
	switch {
	case err != nil:
		p.fail(notIntegral(v))
	case n < 0 || n >= len(names):
		p.fail(status.New(status.InvalidArg, "unsupported %s value '%d' is requested", key, n))
	default:
		set[key] = names[n]
	}
}

func parseBool(v string) (bool, error) {
	switch strings.ToLower(v) {
	case "true", "on", "1":
		return true, nil
	case "false", "off", "0":
		return false, nil
	}
	return false, status.New(status.InvalidArg, "failed to convert '%s' to boolean", v)
}

func notIntegral(v string) error {
	return status.New(status.InvalidArg, "failed to convert '%s' to integral number", v)
}
