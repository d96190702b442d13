package model

import (
	"fmt"
	"strings"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// invalidRequest returns an InvalidArg error that names the request.
func invalidRequest(r *infer.Request, format string, args ...any) error {
	return status.New(status.InvalidArg, "%s%s", r.Tag(), fmt.Sprintf(format, args...))
}

// duplicate returns a name that two inputs or requested outputs share.
func duplicate[T any](all []T, name func(*T) string) (string, bool) {
	seen := make(map[string]bool, len(all))
	for i := range all {
		n := name(&all[i])
		if seen[n] {
			return n, true
		}
		seen[n] = true
	}
	return "", false
}

// repeatedOutput is the text of later Tritons; 2.51 drops all but one of the wishes.
func repeatedOutput(r *infer.Request, name string) error {
	return invalidRequest(r, "output '%s' already exists in request", name)
}

// tableOrder returns the order in which Triton checks the request's inputs.
func tableOrder(r *infer.Request) []int {
	names := make([]string, len(r.Inputs))
	for i := range r.Inputs {
		names[i] = r.Inputs[i].Name
	}
	return tensor.HashOrder(names)
}

// wrongCount lists the inputs of the request and the missing ones. If none is missing the
// list has no opening bracket, as in Triton's message.
func (k *checker) wrongCount(r *infer.Request) error {
	got := make([]string, len(r.Inputs))
	for n, i := range tableOrder(r) {
		got[n] = r.Inputs[i].Name
	}
	var missing []string
	for i := range k.sig.Inputs {
		if v := &k.sig.Inputs[i]; !v.Optional && r.Input(v.Name) == nil {
			missing = append(missing, v.Name)
		}
	}
	lack := "]"
	if len(missing) > 0 {
		lack = "[" + quotedNames(missing) + "]"
	}
	expected := fmt.Sprintf("%d inputs", len(k.sig.Inputs))
	if k.required < len(k.sig.Inputs) {
		expected = fmt.Sprintf("number of inputs between %d and %d", k.required, len(k.sig.Inputs))
	}
	return invalidRequest(r, "expected %s but got %d inputs for model '%s'. Got input(s) [%s], but missing required input(s) %s. Please provide all required input(s).",
		expected, len(got), k.model, quotedNames(got), lack)
}

func quotedNames(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "'" + strings.Join(names, "','") + "'"
}

const batchNote = "NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. If you want to specify the full shape including the batch dim in your input dims config, try setting max_batch_size to zero. See the model configuration docs for more info on max_batch_size."

func (k *checker) wrongShape(r *infer.Request, want *backend.Value, t *kserve.Tensor) error {
	expected, note := want.Dims, ""
	if k.maxBatch > 0 {
		expected = append([]int64{-1}, want.Dims...)
		note = batchNote
	}
	return invalidRequest(r, "unexpected shape for input '%s' for model '%s'. Expected %s, got %s. %s",
		want.Name, k.model, expected, t.Shape, note)
}

func (k *checker) tooLarge(r *infer.Request, want *backend.Value, t *kserve.Tensor, err error) error {
	return invalidRequest(r, "shape %s of input '%s' for model '%s' is too large: %v", t.Shape, nameInErrors(r, want), k.model, err)
}

// nameInErrors returns the input's name in messages about its data; the input of a raw
// request has another name there.
func nameInErrors(r *infer.Request, v *backend.Value) string {
	if r.Raw {
		return "raw_input"
	}
	return v.Name
}
