package rest

// intern is a small table of the names seen last. It turns the names that come
// with every request into strings without an allocation for each.
type intern struct {
	table [64]string
}

const internMax = 64 // longer names are not worth keeping

func (t *intern) get(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > internMax {
		return string(b)
	}
	h := uint32(2166136261)
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	slot := &t.table[(h^h>>16)%uint32(len(t.table))]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}
