package sharedlib

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// namedObject returns the smallest shared object that the dynamic loader accepts: it has the
// given DT_SONAME and nothing else. A library that depends on that name is satisfied by it
// once it is loaded.
func namedObject(soname string, machine elf.Machine) []byte {
	const (
		headers = 3
		// glibc may write to the dynamic section, so that the one segment is writable.
		page = 0x1000
	)
	strings := append([]byte{0}, append([]byte(soname), 0)...)
	dynamicAt := uint64(binary.Size(elf.Header64{}) + headers*binary.Size(elf.Prog64{}))
	const entries = 7
	hashAt := dynamicAt + entries*uint64(binary.Size(elf.Dyn64{}))
	hash := []uint32{1, 1, 0, 0} // one bucket, one chain, both empty
	symbolsAt := hashAt + uint64(binary.Size(hash))
	stringsAt := symbolsAt + elf.Sym64Size
	size := stringsAt + uint64(len(strings))

	dynamic := []elf.Dyn64{
		{Tag: int64(elf.DT_SONAME), Val: 1},
		{Tag: int64(elf.DT_HASH), Val: hashAt},
		{Tag: int64(elf.DT_STRTAB), Val: stringsAt},
		{Tag: int64(elf.DT_SYMTAB), Val: symbolsAt},
		{Tag: int64(elf.DT_STRSZ), Val: uint64(len(strings))},
		{Tag: int64(elf.DT_SYMENT), Val: elf.Sym64Size},
		{Tag: int64(elf.DT_NULL)},
	}
	dynamicSize := uint64(binary.Size(dynamic))
	writable := uint32(elf.PF_R | elf.PF_W)
	header := elf.Header64{
		Type: uint16(elf.ET_DYN), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Phoff: uint64(binary.Size(elf.Header64{})), Ehsize: uint16(binary.Size(elf.Header64{})),
		Phentsize: uint16(binary.Size(elf.Prog64{})), Phnum: headers,
	}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS] = byte(elf.ELFCLASS64)
	header.Ident[elf.EI_DATA] = byte(elf.ELFDATA2LSB)
	header.Ident[elf.EI_VERSION] = byte(elf.EV_CURRENT)

	var b bytes.Buffer
	for _, part := range []any{
		header,
		elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: writable, Filesz: size, Memsz: size, Align: page},
		elf.Prog64{Type: uint32(elf.PT_DYNAMIC), Flags: writable, Off: dynamicAt, Vaddr: dynamicAt, Paddr: dynamicAt, Filesz: dynamicSize, Memsz: dynamicSize, Align: 8},
		// Without this header the loader assumes that the stack must be executable.
		elf.Prog64{Type: uint32(elf.PT_GNU_STACK), Flags: writable, Align: 8},
		dynamic, hash,
		elf.Sym64{},
		strings,
	} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			panic(err) // all parts have a fixed size
		}
	}
	return b.Bytes()
}
