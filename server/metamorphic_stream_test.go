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
	model   string
	inputs  []value
	outputs []string // empty: all
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

// questions makes a stream in which every third request was asked before.
func questions(rng *rand.Rand, n int) []question {
	var all []question
	for len(all) < n {
		if len(all) > 0 && rng.IntN(3) == 0 {
			all = append(all, all[rng.IntN(len(all))])
			continue
		}
		q := []func(*rand.Rand) question{sums, pairs, words}[rng.IntN(3)](rng)
		if rng.IntN(8) == 0 {
			spoil(rng, &q)
		}
		all = append(all, q)
	}
	return all
}

// maxRows is what every variant takes.
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
	switch rng.IntN(4) {
	case 0:
		q.outputs = append(q.outputs, "NOTHING")
	case 1:
		first.name = "NOBODY"
	case 2:
		if first.datatype == tensor.Int32 {
			first.datatype = tensor.FP32
		}
	case 3:
		q.inputs = q.inputs[1:]
	}
}
