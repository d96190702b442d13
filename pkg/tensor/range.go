package tensor

import (
	"fmt"
	"math"
)

// IntegerRange returns the lowest and the highest value of an integer type. ok is false for
// the other types.
func (d DataType) IntegerRange() (low int64, high uint64, ok bool) {
	unused := 64 - 8*d.Size()
	switch d {
	case Uint8, Uint16, Uint32, Uint64:
		return 0, math.MaxUint64 >> unused, true
	case Int8, Int16, Int32, Int64:
		return math.MinInt64 >> unused, math.MaxInt64 >> unused, true
	}
	return 0, 0, false
}

// Overflows reports whether a finite number is infinite once it is rounded to a type of
// floating point numbers.
func (d DataType) Overflows(f float64) bool {
	if math.IsInf(f, 0) {
		return false
	}
	narrow := float32(f)
	switch d {
	case FP16:
		return FP16Bits(narrow)&^(1<<15) == 0x7C00
	case BF16:
		return BF16Bits(narrow)&^(1<<15) == 0x7F80
	case FP32:
		return math.IsInf(float64(narrow), 0)
	}
	return false
}

// largest holds the largest finite numbers of the types that Overflows knows.
var largest = map[DataType]string{FP16: "65504", BF16: "3.3895314e+38", FP32: "3.4028235e+38"}

// RangeError is a number that the type of its tensor cannot hold.
type RangeError struct {
	Element int    // its index in row-major order
	Number  string // as it was written
	Type    DataType
}

// Error names the element, the number and the range of the type.
func (e *RangeError) Error() string {
	const shown = 40
	number := e.Number
	if len(number) > shown {
		number = number[:shown] + "..."
	}
	low, high := "-"+largest[e.Type], largest[e.Type]
	if l, h, ok := e.Type.IntegerRange(); ok {
		low, high = fmt.Sprint(l), fmt.Sprint(h)
	}
	return fmt.Sprintf("element %d is %s, which is outside of the range of %s, %s to %s", e.Element, number, e.Type, low, high)
}
