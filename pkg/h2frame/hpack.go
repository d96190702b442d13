package h2frame

// Representations of header fields, RFC 7541, section 6.
const (
	Indexed     = 0x80
	Incremental = 0x40 // a literal that becomes an entry of the table
	Literal     = 0
	TableSize   = 0x20

	StaticEntries = 61
	EntryOverhead = 32 // bytes that an entry of the table counts beyond its name and value
)

// AppendInt appends an integer behind the flags in a byte of which it has some bits, RFC 7541, section 5.1.
func AppendInt(b []byte, flags byte, bits, v int) []byte {
	most := 1<<bits - 1
	if v < most {
		return append(b, flags|byte(v))
	}
	b = append(b, flags|byte(most))
	for v -= most; v >= 0x80; v >>= 7 {
		b = append(b, 0x80|byte(v))
	}
	return append(b, byte(v))
}

// AppendField appends a literal with a new name. kind is Incremental or Literal.
func AppendField(b []byte, kind byte, name, value string) []byte {
	b = append(b, kind)
	b = append(AppendInt(b, 0, 7, len(name)), name...)
	return append(AppendInt(b, 0, 7, len(value)), value...)
}

// Scan says what a block of header fields does to the table: nothing but refer to it, so that it means the same
// as long as nothing changes the table, or change it. A block that is broken may say either.
func Scan(block []byte) (refers, changes bool) {
	refers = len(block) > 0
	for len(block) > 0 {
		switch b := block[0]; {
		case b&Indexed != 0:
			_, block = cutInt(block, 7)
			continue
		case b&(Incremental|TableSize) != 0:
			return false, true
		}
		refers = false
		var name int
		if name, block = cutInt(block, 4); name == 0 {
			block = cutString(block)
		}
		block = cutString(block)
	}
	return refers, false
}

// cutInt returns the integer at the beginning of b, and what is behind it.
func cutInt(b []byte, bits int) (int, []byte) {
	most := 1<<bits - 1
	v := int(b[0]) & most
	b = b[1:]
	for shift := 0; v >= most && len(b) > 0 && shift < 28; shift += 7 {
		more := b[0]
		v, b = v+int(more&0x7f)<<shift, b[1:]
		if more&0x80 == 0 {
			break
		}
	}
	return v, b
}

func cutString(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	n, rest := cutInt(b, 7)
	return rest[min(n, len(rest)):]
}
