package tritonjson

import "strconv"

// AppendUint appends a label, such as `,"count":`, and a number.
func AppendUint(b []byte, label string, v uint64) []byte {
	return strconv.AppendUint(append(b, label...), v, 10)
}

// AppendStrings appends an array of strings.
func AppendStrings(b []byte, ss []string) []byte {
	b = append(b, '[')
	for i, s := range ss {
		b = AppendString(Comma(b, i), s)
	}
	return append(b, ']')
}

// Comma appends a comma before all elements but the first, which is 0.
func Comma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}
