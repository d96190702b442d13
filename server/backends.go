package server

import (
	"maps"

	"triton/server/backend"
	"triton/server/backend/builtin"
	"triton/server/backend/native"
	"triton/server/backend/onnx"
	"triton/server/backend/python"
)

// NewBackends returns the backends of this program.
func NewBackends(search onnx.Search) backend.Set {
	py := python.New()
	set := backend.Set{
		onnx.Name:   onnx.New(search),
		python.Name: py,
		"identity":  builtin.Identity{},
		"repeat":    builtin.Repeat{},
		"square":    builtin.Square{},
		"fault":     builtin.Fault{},
		"query":     builtin.Query{Getenv: search.Getenv},

		"sequence":           builtin.Sequence{},
		"dyna_sequence":      builtin.DynaSequence{},
		"implicit_state":     builtin.ImplicitState{},
		"iterative_sequence": builtin.IterativeSequence{},
		"distributed_addsub": builtin.DistributedAddSub{},

		"tokenizer":     builtin.Tokenizer{},
		"postprocessor": builtin.Postprocessor{},
	}
	maps.Copy(set, py.Shipped())
	libraries := native.Search{Getenv: search.Getenv, Executable: search.Executable, Directory: search.Directory, Backends: search.Backends, System: search.System}
	for name, engine := range map[string]native.Engine{
		"fil": native.NewTrees("fil", libraries), "xgboost": native.NewTrees("xgboost", libraries), "lightgbm": native.NewTrees("lightgbm", libraries),
		native.OpenVINO: native.NewOpenVINO(libraries),
	} {
		set[name] = native.New(name, engine, set[name])
	}
	return set
}
