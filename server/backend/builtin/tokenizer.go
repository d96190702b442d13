package builtin

import (
	"cmp"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"

	"triton/pkg/kserve"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/requirement"
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
	if err := check("tokenizer", spec.Config); err != nil {
		return nil, err
	}
	t := &tokenizer{spec: spec, lower: spec.Config.GetParameters()["lower_case"].GetStringValue() != "false"}
	t.longest, t.multiple = cmp.Or(int(count(spec.Config, "max_length")), 128), cmp.Or(int(count(spec.Config, "pad_to_multiple_of")), 1)
	var err error
	t.vocabulary, err = openVocabulary(spec)
	return t, err
}

func openVocabulary(spec backend.Spec) (*vocabulary, error) {
	name := requirement.Vocabulary(spec.Config)
	if name == "" {
		return hashed(uint32(count(spec.Config, "vocabulary_size"))), nil
	}
	if err := modelconfig.FirstError(requirement.Files("tokenizer", modelconfig.New("", spec.Config), spec.Dir)); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(spec.Dir, name))
	if err != nil {
		return nil, status.New(status.InvalidArg, "reading the vocabulary: %w", err)
	}
	return readVocabulary(text), nil
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
