package trace

// level is the set of what is recorded.
type level uint8

const (
	off        level = 0
	timestamps level = 1 << iota
	tensors
)

// names returns the levels as clients see them.
func (l level) names() []string {
	if l == off {
		return []string{"OFF"}
	}
	var all []string
	if l&timestamps != 0 {
		all = append(all, "TIMESTAMPS")
	}
	if l&tensors != 0 {
		all = append(all, "TENSORS")
	}
	return all
}

// values are the settings that clients may change.
type values struct {
	level     level
	rate      uint32 // one of rate requests is traced
	count     int32  // remaining traces; below 0: no limit
	frequency uint32 // traces per file; 0: all in one
}
