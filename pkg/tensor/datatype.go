// Package tensor holds the element types, shapes and memory of tensors: data types,
// overflow-checked shape arithmetic, reference-counted buffers, the segments of a
// tensor's data, the pool of large buffers, and the order of names in Triton's hash
// tables. It knows nothing of requests, models or protocols.
package tensor

// DataType is the element type of a tensor. The numbers are those of the
// config proto's DataType enum.
type DataType uint8

// The data types of the protocol.
const (
	Invalid DataType = iota
	Bool
	Uint8
	Uint16
	Uint32
	Uint64
	Int8
	Int16
	Int32
	Int64
	FP16
	FP32
	FP64
	Bytes
	BF16
)

var dataTypes = [...]struct {
	name string
	size int
}{
	Invalid: {"", 0},
	Bool:    {"BOOL", 1},
	Uint8:   {"UINT8", 1},
	Uint16:  {"UINT16", 2},
	Uint32:  {"UINT32", 4},
	Uint64:  {"UINT64", 8},
	Int8:    {"INT8", 1},
	Int16:   {"INT16", 2},
	Int32:   {"INT32", 4},
	Int64:   {"INT64", 8},
	FP16:    {"FP16", 2},
	FP32:    {"FP32", 4},
	FP64:    {"FP64", 8},
	Bytes:   {"BYTES", 0},
	BF16:    {"BF16", 2},
}

// DataTypes lists every valid type in enum order.
func DataTypes() []DataType {
	all := make([]DataType, 0, len(dataTypes)-1)
	for d := Bool; int(d) < len(dataTypes); d++ {
		all = append(all, d)
	}
	return all
}

// String returns the protocol name, such as "FP32" or "BYTES".
func (d DataType) String() string {
	if d == Invalid || int(d) >= len(dataTypes) {
		return "<invalid>"
	}
	return dataTypes[d].name
}

// ConfigName returns the name in config.pbtxt, such as "TYPE_FP32" or "TYPE_STRING".
func (d DataType) ConfigName() string {
	switch {
	case d == Bytes:
		return "TYPE_STRING"
	case d == Invalid || int(d) >= len(dataTypes):
		return "TYPE_INVALID"
	}
	return "TYPE_" + dataTypes[d].name
}

// Size returns the size of one element in bytes; 0 for BYTES, whose elements vary.
func (d DataType) Size() int {
	if int(d) >= len(dataTypes) {
		return 0
	}
	return dataTypes[d].size
}

// ParseDataType parses a protocol name. It reports false for an unknown one.
func ParseDataType(name string) (DataType, bool) {
	switch name { // a switch, not a map: this runs once per tensor of a request
	case "BOOL":
		return Bool, true
	case "UINT8":
		return Uint8, true
	case "UINT16":
		return Uint16, true
	case "UINT32":
		return Uint32, true
	case "UINT64":
		return Uint64, true
	case "INT8":
		return Int8, true
	case "INT16":
		return Int16, true
	case "INT32":
		return Int32, true
	case "INT64":
		return Int64, true
	case "FP16":
		return FP16, true
	case "FP32":
		return FP32, true
	case "FP64":
		return FP64, true
	case "BYTES":
		return Bytes, true
	case "BF16":
		return BF16, true
	}
	return Invalid, false
}
