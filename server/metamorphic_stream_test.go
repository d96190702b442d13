package server_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"

	"triton/pkg/tensor"
)

// question is one request of the stream, free of any transport.
type question struct {
	model    string
	inputs   []value
	outputs  []string  // empty: all
	position *position // in its sequence; nil: it belongs to none
	wrong    bool      // an error is the right answer
}

// position is the position of a question in its sequence.
type position struct {
	id         uint64
	start, end bool
}

// value is a tensor.
type value struct {
	name     string
	datatype tensor.DataType
	shape    tensor.Shape
	data     []byte
}

func (v value) String() string {
	return fmt.Sprintf("%s %s%v %x", v.name, v.datatype, v.shape, v.data)
}

func (q question) String() string {
	return fmt.Sprintf("%s %v -> %v", q.model, q.inputs, q.outputs)
}

// conversation is one question, or all questions of a sequence, which are sent in order.
type conversation []question

// conversations make a stream in which every third was held before.
func conversations(rng *rand.Rand, n int) []conversation {
	var all []conversation
	for len(all) < n {
		switch rng.IntN(12) {
		case 0, 1, 2, 3:
			if len(all) > 0 {
				all = append(all, all[rng.IntN(len(all))])
			}
		case 4, 5:
			all = append(all, running(rng))
		default:
			q := []func(*rand.Rand) question{sums, pairs, words, both}[rng.IntN(4)](rng)
			if rng.IntN(8) == 0 {
				spoil(rng, &q)
			}
			all = append(all, conversation{q})
		}
	}
	return all
}

// as returns the conversation with a correlation id of its own.
func (c conversation) as(id uint64) conversation {
	own := append(conversation(nil), c...)
	for i := range own {
		if own[i].position != nil {
			t := *own[i].position
			t.id = id
			own[i].position = &t
		}
	}
	return own
}

// running returns a sequence, whose answers are running sums. Some sequences continue after
// their end, which is an error.
func running(rng *rand.Rand) conversation {
	var c conversation
	model := []string{"slots", "onnx_accumulator", "candidates"}[rng.IntN(3)]
	last := rng.IntN(4)
	for i := range last + 1 {
		c = append(c, question{
			model: model, position: &position{start: i == 0, end: i == last},
			inputs: []value{numbers(rng, "INPUT", 1, 1)},
		})
	}
	if rng.IntN(4) == 0 {
		late := c[last]
		late.position, late.wrong = &position{}, true
		c = append(c, late)
	}
	return c
}

// maxRows is a number of rows that every variant accepts.
const maxRows = 4

func sums(rng *rand.Rand) question {
	rows := int64(1 + rng.IntN(maxRows))
	q := question{model: "simple"}
	for _, i := range rng.Perm(2) {
		q.inputs = append(q.inputs, numbers(rng, fmt.Sprint("INPUT", i), rows, 16))
		if rng.IntN(3) == 0 {
			q.outputs = append(q.outputs, fmt.Sprint("OUTPUT", i))
		}
	}
	return q
}

// both is sums through an ensemble.
func both(rng *rand.Rand) question {
	q := sums(rng)
	q.model = "both"
	for i, name := range q.outputs {
		q.outputs[i] = map[string]string{"OUTPUT0": "SUM", "OUTPUT1": "DIFFERENCE"}[name]
	}
	return q
}

func pairs(rng *rand.Rand) question {
	rows, width := int64(1+rng.IntN(maxRows)), int64(1+rng.IntN(4))
	return question{model: "numbers", inputs: []value{numbers(rng, "INPUT0", rows, width, 2)}}
}

func words(rng *rand.Rand) question {
	rows, width := 1+rng.IntN(maxRows), 1+rng.IntN(3)
	v := value{name: "INPUT0", datatype: tensor.Bytes, shape: tensor.Shape{int64(rows), int64(width)}}
	for range rows * width {
		word := strings.Repeat(string(rune('a'+rng.IntN(26))), rng.IntN(12))
		v.data = append(binary.LittleEndian.AppendUint32(v.data, uint32(len(word))), word...)
	}
	return question{model: "words", inputs: []value{v}}
}

func numbers(rng *rand.Rand, name string, shape ...int64) value {
	v := value{name: name, datatype: tensor.Int32, shape: shape}
	n, _ := v.shape.Elements()
	for range n {
		v.data = binary.LittleEndian.AppendUint32(v.data, uint32(rng.Int32N(1<<20)))
	}
	return v
}

// spoil makes a request wrong in one way.
func spoil(rng *rand.Rand, q *question) {
	first := &q.inputs[0]
	q.wrong = true
	switch rng.IntN(4) {
	case 0:
		q.outputs = append(q.outputs, "NOTHING")
	case 1:
		first.name = "NOBODY"
	case 2:
		if first.datatype != tensor.Int32 { // as JSON, strings are no four bytes each
			first.name = "NOBODY"
			return
		}
		first.datatype = tensor.FP32
	case 3:
		q.inputs = q.inputs[1:]
	}
}

// right returns the expected answers; "" is an error.
func (c conversation) right() []string {
	var all []string
	total := int32(0)
	for _, q := range c {
		var outputs []value
		switch {
		case q.wrong:
			all = append(all, "")
			continue
		case q.position != nil:
			total += int32s(q.inputs[0].data)[0]
			outputs = []value{{"OUTPUT", tensor.Int32, q.inputs[0].shape, packed([]int32{total})}}
		case len(q.inputs) == 2:
			outputs = q.arithmetic()
		default:
			v := q.inputs[0]
			v.name = "OUTPUT0"
			outputs = []value{v}
		}
		all = append(all, written(outputs))
	}
	return all
}

// arithmetic returns the requested ones of the sum and the difference of two inputs.
func (q question) arithmetic() (outputs []value) {
	byName := map[string][]int32{}
	for _, in := range q.inputs {
		byName[in.name] = int32s(in.data)
	}
	a, b := byName["INPUT0"], byName["INPUT1"]
	sum, difference := make([]int32, len(a)), make([]int32, len(a))
	for i := range a {
		sum[i], difference[i] = a[i]+b[i], a[i]-b[i]
	}
	for _, name := range q.requested() {
		data := sum
		if name == "OUTPUT1" || name == "DIFFERENCE" {
			data = difference
		}
		outputs = append(outputs, value{name, tensor.Int32, q.inputs[0].shape, packed(data)})
	}
	return outputs
}

func packed(v []int32) (b []byte) {
	for _, n := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	return b
}

func int32s(b []byte) (v []int32) {
	for ; len(b) >= 4; b = b[4:] {
		v = append(v, int32(binary.LittleEndian.Uint32(b)))
	}
	return v
}
