package requirement

import (
	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// oneOrTwo checks for one input and one or two outputs.
func (k *checker) oneOrTwo() bool {
	switch {
	case len(k.Input) != 1:
		k.add(ruleTensors, "input", "list one", "expected 1 input, got %d", len(k.Input))
		return false
	case len(k.Output) < 1 || len(k.Output) > 2:
		k.add(ruleTensors, "output", "list one or two", "expected 1 or 2 outputs, got %d", len(k.Output))
		return false
	}
	return true
}

func (k *checker) tokenizer() {
	if !k.oneOrTwo() {
		return
	}
	k.dataType("input", inferencepb.DataType_TYPE_STRING, k.in(0))
	k.single("input", k.in(0))
	for i := range k.Output {
		out := k.out(i)
		k.dataType("output", inferencepb.DataType_TYPE_INT64, out)
		if shape := tensor.Shape(out.GetDims()); !shape.Equal(tensor.Shape{-1}) {
			k.add(ruleTensors, out.path+".dims", "write dims: [ -1 ]", "expected %s shape to be [-1], got %s", out.GetName(), shape)
		}
	}
	k.atLeast("max_length", 2)
	k.atLeast("pad_to_multiple_of", 1)
	k.vocabulary()
}

// SpecialPieces are the pieces that every vocabulary of the tokenizer has.
var SpecialPieces = [...]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]"}

// The parameters of the tokenizer's vocabulary.
const (
	vocabularyKey     = "vocabulary"
	vocabularySizeKey = "vocabulary_size"
)

func (k *checker) vocabulary() {
	name := k.GetParameters()[vocabularyKey].GetStringValue()
	size, err := Count(k.ModelConfig, vocabularySizeKey)
	if err == nil && name == "" && size != 0 && size <= int64(len(SpecialPieces)) {
		err = status.New(status.InvalidArg, "parameter 'vocabulary_size' must be more than %d, got %d", len(SpecialPieces), size)
	}
	k.parameter(vocabularySizeKey, "write the number of pieces", err)
	if name != "" && !modelconfig.LocalName(name) {
		k.add(ruleParameters, `parameters["`+vocabularyKey+`"]`, "put the file into the version's folder",
			"the vocabulary '%s' is outside the version's folder", name)
	}
}

// atLeast checks a parameter that is a number and, unless it is 0, at least least.
func (k *checker) atLeast(key string, least int64) {
	n, err := Count(k.ModelConfig, key)
	if err == nil && n != 0 && n < least {
		err = status.New(status.InvalidArg, "parameter '%s' must be at least %d, got %d", key, least, n)
	}
	k.parameter(key, "write a whole number", err)
}

func (k *checker) postprocessor() {
	if !k.oneOrTwo() {
		return
	}
	in := k.in(0)
	k.dataType("input", inferencepb.DataType_TYPE_FP32, in)
	if len(in.GetDims()) != 1 {
		k.add(ruleTensors, in.path+".dims", "write one dimension", "expected input shape to have one dimension, got %s", tensor.Shape(in.GetDims()))
	}
	for i := range k.Output {
		out := k.out(i)
		switch out.GetDataType() {
		case inferencepb.DataType_TYPE_STRING:
			k.single(out.GetName(), out)
		case inferencepb.DataType_TYPE_FP32:
			if a, b := tensor.Shape(in.GetDims()), tensor.Shape(out.GetDims()); !a.Equal(b) {
				k.add(ruleTensors, out.path+".dims", "write the dims of the input", "expected %s shape to be %s, got %s", out.GetName(), a, b)
			}
		default:
			k.add(ruleTensors, out.path+".data_type", "write TYPE_STRING for the names, TYPE_FP32 for the probabilities",
				"expected %s datatype to be STRING or FP32, got %s", out.GetName(), out.GetDataType())
		}
	}
}
