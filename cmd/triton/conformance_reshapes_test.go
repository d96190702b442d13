package main_test

import (
	"fmt"
	"maps"
	"strings"
)

// The models of the questions about reshape: identities, and ensembles of them
// whose own tensors have a reshape, or whose steps' models have one.

const (
	square = "dims: [ 4, 4 ]"
	flat   = "dims: [ 16 ]"
	anyLen = "dims: [ -1 ]"
	inside = " reshape { shape: [ %s ] }"
)

// reshapeModels are those models by name.
func reshapeModels() map[string]string {
	to := func(dims, shape string) string { return dims + fmt.Sprintf(inside, shape) }
	return map[string]string{
		"identity_flat":    reshapedIdentity(4, flat),
		"identity_square":  reshapedIdentity(4, square),
		"identity_squared": reshapedIdentity(4, to(flat, "4, 4")),
		"identity_flatten": reshapedIdentity(4, to(square, "16")),
		"identity_open":    reshapedIdentity(4, anyLen),
		"identity_pairs":   reshapedIdentity(4, "dims: [ -1, 2 ]"),
		"identity_whole":   reshapedIdentity(0, flat),

		"reshape_own":    reshapedChain(4, to(square, "16"), to(square, "16"), "identity_flat"),
		"reshape_step":   reshapedChain(4, flat, flat, "identity_squared"),
		"reshape_both":   reshapedChain(4, to(square, "16"), to("dims: [ 2, 8 ]", "16"), "identity_flat", "identity_squared"),
		"reshape_in":     reshapedChain(4, to(flat, "4, 4"), square, "identity_flatten"),
		"reshape_out":    reshapedChain(4, flat, to(square, "16"), "identity_flat"),
		"reshape_open":   reshapedChain(4, to("dims: [ -1, 2, 1 ]", "-1, 2"), to("dims: [ 1, -1, 2 ]", "-1, 2"), "identity_pairs"),
		"reshape_whole":  reshapedChain(0, to(square, "16"), to(square, "16"), "identity_flat"),
		"reshape_row":    reshapedChain(4, to(square, "16"), to(square, "16"), "identity_whole"),
		"reshape_nested": reshapedChain(4, to("dims: [ 2, 8 ]", "4, 4"), to("dims: [ 2, 8 ]", "4, 4"), "reshape_own"),
		"reshape_misfit": reshapedChain(4, anyLen, to(square, "16"), "identity_open"),

		"reshape_outer":  reshapedChain(4, to(square, "16"), to(square, "16"), "identity_square"),
		"reshape_inner":  reshapedChain(4, flat, flat, "identity_flatten"),
		"reshape_scalar": reshapedChain(4, to("dims: [ 1 ]", ""), "dims: [ 1 ]", "identity_open"),
		"reshape_size":   reshapedChain(4, to(square, "15"), square, "identity_square"),
	}
}

func reshapedIdentity(batch int, tensor string) string {
	return fmt.Sprintf(`backend: "identity"
max_batch_size: %d
input { name: "INPUT0" data_type: TYPE_INT32 %s }
output { name: "OUTPUT0" data_type: TYPE_INT32 %s }
instance_group [ { kind: KIND_CPU } ]
`, batch, tensor, tensor)
}

// reshapedChain is an ensemble of steps one after the other.
func reshapedChain(batch int, in, out string, steps ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `platform: "ensemble"
max_batch_size: %d
input { name: "INPUT0" data_type: TYPE_INT32 %s }
output { name: "OUTPUT0" data_type: TYPE_INT32 %s }
ensemble_scheduling {
`, batch, in, out)
	from := "INPUT0"
	for i, model := range steps {
		to := fmt.Sprintf("t%d", i)
		if i == len(steps)-1 {
			to = "OUTPUT0"
		}
		fmt.Fprintf(&b, "  step { model_name: %q model_version: -1 input_map { key: \"INPUT0\" value: %q } output_map { key: \"OUTPUT0\" value: %q } }\n", model, from, to)
		from = to
	}
	return b.String() + "}\n"
}

func init() { maps.Copy(builtIn, reshapeModels()) }
