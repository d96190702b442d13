package builtin

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
)

// Tokenizer is the backend "tokenizer". Its one input is TYPE_STRING with dims [1]. Its
// first output holds the numbers of the pieces of each text, TYPE_INT64 with dims [-1];
// its second, if there is one, 1 for each piece and 0 for padding. The texts of a
// request are padded to the longest.
//
// Parameters: vocabulary, a file in the version's folder with one piece per line
// ("vocab.txt" if that exists), or vocabulary_size, to hash words instead; max_length
// (128) bounds the pieces of a text; pad_to_multiple_of (1) pads further, so that
// requests of nearly the same length can share a batch; lower_case ("true").
type Tokenizer struct{}

var (
	_ backend.Backend  = Tokenizer{}
	_ backend.Model    = (*tokenizer)(nil)
	_ backend.Instance = (*tokenizer)(nil)
)

// tokenizer is model and instance: it has no state.
type tokenizer struct {
	spec              backend.Spec
	vocabulary        *vocabulary
	longest, multiple int
	lower             bool
}

// Load checks the configuration and reads the vocabulary.
func (Tokenizer) Load(_ context.Context, spec backend.Spec) (backend.Model, error) {
	if err := checkTokenizer(spec.Config); err != nil {
		return nil, err
	}
	t := &tokenizer{spec: spec, lower: spec.Config.GetParameters()["lower_case"].GetStringValue() != "false"}
	for name, p := range map[string]struct {
		to   *int
		none int
		min  int
	}{"max_length": {&t.longest, 128, 2}, "pad_to_multiple_of": {&t.multiple, 1, 1}} {
		n, err := intParameter(spec.Config, name)
		switch {
		case err != nil:
			return nil, err
		case n == 0:
			n = int64(p.none)
		case n < int64(p.min):
			return nil, status.New(status.InvalidArg, "parameter '%s' must be at least %d, got %d", name, p.min, n)
		}
		*p.to = int(n)
	}
	var err error
	t.vocabulary, err = openVocabulary(spec)
	return t, err
}

func checkTokenizer(cfg *inferencepb.ModelConfig) error {
	ins, outs := cfg.GetInput(), cfg.GetOutput()
	v := expectation{}
	if v.oneOrTwo(ins, outs); v.err != nil {
		return v.err
	}
	v.dataType("input", "STRING", ins[0])
	v.single("input", ins[0])
	for _, out := range outs {
		v.dataType("output", "INT64", out)
		if shape := tensor.Shape(out.GetDims()); !shape.Equal(tensor.Shape{-1}) {
			v.fail("expected %s shape to be [-1], got %s", out.GetName(), shape)
		}
	}
	return v.err
}

func openVocabulary(spec backend.Spec) (*vocabulary, error) {
	name := spec.Config.GetParameters()["vocabulary"].GetStringValue()
	size, err := intParameter(spec.Config, "vocabulary_size")
	if err != nil {
		return nil, err
	}
	switch {
	case name == "" && size > int64(len(special)):
		return hashed(uint32(size)), nil
	case name == "" && size != 0:
		return nil, status.New(status.InvalidArg, "parameter 'vocabulary_size' must be more than %d, got %d", len(special), size)
	case name == "":
		name = "vocab.txt"
	case !filepath.IsLocal(name):
		return nil, status.New(status.InvalidArg, "the vocabulary '%s' is outside the version's folder", name)
	}
	text, err := os.ReadFile(filepath.Join(spec.Dir, name))
	if err != nil {
		return nil, status.New(status.InvalidArg, "reading the vocabulary: %w; or set parameter 'vocabulary_size'", err)
	}
	return readVocabulary(text)
}

func (t *tokenizer) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	return t, nil
}

func (*tokenizer) Close() error { return nil }

// Execute answers each request alone.
func (t *tokenizer) Execute(_ context.Context, b *infer.Batch) error {
	b.InputEnd = infer.Now()
	var ids []int64
	var ends []int
	for _, r := range b.Requests {
		ids, ends = t.encode(r.Input(t.spec.Config.GetInput()[0].GetName()), ids[:0], ends[:0])
		r.Respond(t.answer(r, ids, ends), true)
	}
	b.OutputStart = infer.Now()
	return nil
}

// encode returns the numbers of all texts, concatenated, and the index at which each
// text ends.
func (t *tokenizer) encode(in *kserve.Tensor, ids []int64, ends []int) ([]int64, []int) {
	if in == nil {
		return ids, ends
	}
	for text := range elements(&in.Data) {
		ids = t.vocabulary.encode(ids, string(text), t.longest, t.lower)
		ends = append(ends, len(ids))
	}
	return ids, ends
}

// elements returns the elements of a tensor of type BYTES, whose form was checked.
func elements(d *tensor.Data) func(yield func([]byte) bool) {
	mem, whole := d.Contiguous()
	if !whole {
		mem = make([]byte, d.Len())
		d.CopyTo(mem)
	}
	return func(yield func([]byte) bool) {
		for len(mem) >= 4 {
			n := int(binary.LittleEndian.Uint32(mem))
			if n > len(mem)-4 || !yield(mem[4:4+n]) {
				return
			}
			mem = mem[4+n:]
		}
	}
}

func (t *tokenizer) answer(r *infer.Request, ids []int64, ends []int) *infer.Response {
	width, from := 0, 0
	for _, end := range ends {
		width = max(width, end-from)
		from = end
	}
	width = (width + t.multiple - 1) / t.multiple * t.multiple
	shape := tensor.Shape{int64(width)}
	if t.spec.Config.GetMaxBatchSize() > 0 {
		shape = tensor.Shape{int64(len(ends)), int64(width)}
	}
	resp := infer.NewResponse()
	for i, out := range t.spec.Config.GetOutput() {
		resp.Err = add(r, resp, out.GetName(), tensor.Int64, shape, 8*width*len(ends), func(mem []byte) {
			fill(mem, ids, ends, width, t.vocabulary.padding, i == 1)
		})
		if resp.Err != nil {
			break
		}
	}
	return resp
}

// fill writes one row per text. With mask it writes 1 instead of the numbers and 0
// instead of the padding.
func fill(dst []byte, ids []int64, ends []int, width int, padding int64, mask bool) {
	at, from := 0, 0
	if mask {
		padding = 0
	}
	for _, end := range ends {
		for i := range width {
			n := padding
			if from+i < end {
				n = ids[from+i]
				if mask {
					n = 1
				}
			}
			binary.LittleEndian.PutUint64(dst[at:], uint64(n))
			at += 8
		}
		from = end
	}
}
