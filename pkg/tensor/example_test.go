package tensor_test

import (
	"fmt"

	"triton/pkg/tensor"
)

// Compute the size of a tensor, and check a shape against a configuration.
func ExampleShape() {
	shape := tensor.Shape{2, 3, 224, 224}
	elements, err := shape.Elements()
	fmt.Println(elements, err)
	size, err := shape.ByteSize(tensor.FP32)
	fmt.Println(size, err)
	fmt.Println(shape.Matches(tensor.Shape{-1, 3, 224, 224}))

	_, err = tensor.Shape{1 << 40, 1 << 40}.Elements()
	fmt.Println(err)
	// Output:
	// 301056 <nil>
	// 1204224 <nil>
	// true
	// element count exceeds 9223372036854775807
}

// Write and read a tensor of strings.
func ExampleElements() {
	var data []byte
	for _, text := range []string{"a", "", "longer"} {
		data = tensor.AppendElementString(data, text)
	}
	for element, err := range tensor.Elements(data) {
		fmt.Printf("%q %v\n", element, err)
	}
	for _, err := range tensor.Elements(data[:len(data)-1]) {
		if err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// "a" <nil>
	// "" <nil>
	// "longer" <nil>
	// element 2: BYTES tensor is cut off: length 6 but 5 bytes are left
}

// Share memory between two owners. It returns to the pool with the last reference.
func ExamplePool() {
	pool := tensor.NewPool()
	buffer, err := pool.TryGetZeroed(1024)
	if err != nil {
		fmt.Println(err)
		return
	}
	half := tensor.SliceData(buffer, 512, 512) // retains the buffer
	buffer.Release()
	fmt.Println(half.Len(), pool.Outstanding())
	half.Release()
	fmt.Println(pool.Outstanding())
	// Output:
	// 512 1
	// 0
}

// Translate the names that the protocol and configurations use.
func ExampleParseDataType() {
	d, ok := tensor.ParseDataType("FP16")
	fmt.Println(d, d.ConfigName(), d.Size(), ok)
	// Output: FP16 TYPE_FP16 2 true
}
