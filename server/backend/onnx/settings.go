package onnx

import (
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"triton/pkg/modelconfig/requirement"
	"triton/pkg/status"
	"triton/server/backend"
)

// Settings of the backend (--backend-config onnxruntime,<key>=<value>) beside those of NVIDIA's.
const (
	settingLibrary   = "library" // and "library.<name>"
	settingArena     = "cpu-arena."
	settingProfiles  = "profile-directory"
	settingOptimized = "optimized-model-directory"
)

// Parameters of models beside those of NVIDIA's backend, which ignores them.
const (
	parameterLibrary   = "onnxruntime_library"
	parameterProfile   = "onnxruntime_profile"
	parameterOptimized = "onnxruntime_optimized_model"
)

// namedPath is a library that is named; the path is empty if none is.
type namedPath struct{ path, by string }

// libraryOf returns the library that a model or the backend's settings name.
func libraryOf(spec backend.Spec) (namedPath, error) {
	name := spec.Config.GetParameters()[parameterLibrary].GetStringValue()
	if name == "" {
		return namedPath{spec.Settings[settingLibrary], "the setting " + settingLibrary}, nil
	}
	if path := spec.Settings[settingLibrary+"."+name]; path != "" {
		return namedPath{path, "the setting " + settingLibrary + "." + name}, nil
	}
	if !strings.ContainsRune(name, filepath.Separator) {
		return namedPath{}, status.New(status.InvalidArg,
			"the parameter %s of model '%s' names the library '%s', which no setting defines: start the server with --backend-config onnxruntime,%s.%s=<path>",
			parameterLibrary, spec.Name, name, settingLibrary, name)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(spec.Dir, name)
	}
	return namedPath{name, "the parameter " + parameterLibrary}, nil
}

type poolConfig struct {
	global       bool
	intra, inter int
}

// poolSettings reads the backend settings of the process-wide thread pools.
func poolSettings(settings map[string]string) (p poolConfig, err error) {
	if v, ok := settings["enable-global-threadpool"]; ok {
		if p.global, err = requirement.ParseBool(v); err != nil {
			return p, err
		}
	}
	for key, to := range map[string]*int{"intra_op_thread_count": &p.intra, "inter_op_thread_count": &p.inter} {
		if v, ok := settings[key]; ok && p.global {
			if *to, err = requirement.ParseInteger(v); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

// arenaSetting is an option of the arena that all sessions of a library share.
type arenaSetting struct {
	key   string
	value uint64
}

// arenaKeys are the options of an arena that ONNX Runtime knows.
var arenaKeys = []string{
	"max_mem", "arena_extend_strategy", "initial_chunk_size_bytes", "max_dead_bytes_per_chunk",
	"initial_growth_chunk_size_bytes", "max_power_of_two_extend_bytes",
}

// arenaSettings reads the settings cpu-arena.<option>. If there are none each session has an arena
// of its own.
func arenaSettings(settings map[string]string) ([]arenaSetting, error) {
	var list []arenaSetting
	for key, text := range settings {
		option, ok := strings.CutPrefix(key, settingArena)
		if !ok {
			continue
		}
		if !slices.Contains(arenaKeys, option) {
			return nil, status.New(status.InvalidArg, "unknown setting '%s' of the backend %s: write %s followed by one of %s",
				key, Name, settingArena, strings.Join(arenaKeys, ", "))
		}
		n, err := requirement.ParseSize(text)
		if err != nil {
			return nil, status.New(status.InvalidArg, "the setting '%s' of the backend %s: %w", key, Name, err)
		}
		list = append(list, arenaSetting{option, n})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].key < list[j].key })
	return list, nil
}

// defaultMaxBatch returns the backend setting for models that can batch and have no
// max_batch_size.
func defaultMaxBatch(settings map[string]string) (int, error) {
	v, ok := settings["default-max-batch-size"]
	if !ok {
		return 4, nil
	}
	n, err := requirement.ParseInteger(v)
	if err != nil {
		return 0, err
	}
	return max(n, 0), nil
}
