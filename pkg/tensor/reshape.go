package tensor

// AppendReshaped appends to dst the shape that a configured reshape makes of s. from
// and to are the patterns of the configuration: the dimensions of s at the open
// dimensions of from replace the open dimensions of to, in order. Both patterns have
// the same number of open dimensions.
func AppendReshaped(dst, s, from, to Shape) Shape {
	next := 0
	for _, d := range to {
		if d == -1 {
			for next < len(from) && from[next] != -1 {
				next++
			}
			if next < len(from) && next < len(s) {
				d = s[next]
				next++
			}
		}
		dst = append(dst, d)
	}
	return dst
}
