package native

import (
	"encoding/binary"
	"math"
	"slices"

	"triton/pkg/tensor"
)

var treesOutputTypes = []tensor.DataType{tensor.FP32, tensor.FP64, tensor.Int32, tensor.Int64}

// softmax turns the sums of each row into probabilities.
func softmax(y []float64, width int) {
	for row := range slices.Chunk(y, width) {
		top, sum := slices.Max(row), 0.0
		for i, v := range row {
			row[i] = math.Exp(v - top)
			sum += row[i]
		}
		for i := range row {
			row[i] /= sum
		}
	}
}

// outputRule says how classes or probabilities of classes are made of the values of a row.
type outputRule struct {
	proba     bool
	threshold float64
	last      int64 // the last of the configured dims
}

// apply appends the results of the rows to dst and returns their width.
func (r outputRule) apply(dst, y []float64, width int) ([]float64, int) {
	switch {
	case width == 1 && !r.proba: // y is the probability of the second of two classes
		for _, v := range y {
			dst = append(dst, truth(v > r.threshold))
		}
		return dst, 1
	case width == 1 && r.last == 2:
		for _, v := range y {
			dst = append(dst, 1-v, v)
		}
		return dst, 2
	case width == 2 && r.proba && r.last == 1:
		for row := range slices.Chunk(y, 2) {
			dst = append(dst, row[1])
		}
		return dst, 1
	case r.proba:
		return append(dst, y...), width
	case width == 2:
		for row := range slices.Chunk(y, 2) {
			dst = append(dst, truth(row[1] > r.threshold))
		}
		return dst, 1
	}
	for row := range slices.Chunk(y, width) {
		dst = append(dst, float64(slices.Index(row, slices.Max(row))))
	}
	return dst, 1
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// encodeOutput appends the values in the type of an output.
func encodeOutput(dst []byte, t tensor.DataType, y []float64) []byte {
	for _, v := range y {
		switch t {
		case tensor.FP32:
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v)))
		case tensor.FP64:
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
		case tensor.Int32:
			dst = binary.LittleEndian.AppendUint32(dst, uint32(int32(v)))
		case tensor.Int64:
			dst = binary.LittleEndian.AppendUint64(dst, uint64(int64(v)))
		}
	}
	return dst
}
