package server

import (
	"maps"

	"triton/server/backend"
	"triton/server/backend/builtin"
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
	return set
}
