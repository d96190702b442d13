// Command weaken makes undefined dynamic symbols of a shared library weak. The binding of NVML
// leaves its functions undefined until the driver's library is opened; linkers refuse programs
// that use a library with such symbols, unless they are weak.
package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: weaken LIBRARY PREFIX")
		os.Exit(2)
	}
	n, err := weaken(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintf(os.Stderr, "weaken: %s\n", err)
		os.Exit(1)
	}
	fmt.Printf("%s: %d symbols are weak\n", os.Args[1], n)
}

// symbolSize is the size of a symbol in a 64-bit file, infoOffset the place of its binding.
const symbolSize, infoOffset = elf.Sym64Size, 4

// weaken makes the undefined symbols with a prefix weak and returns their number.
func weaken(path, prefix string) (n int, err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	e, err := elf.NewFile(file)
	if err != nil {
		return 0, err
	}
	table := e.SectionByType(elf.SHT_DYNSYM)
	if table == nil || e.Class != elf.ELFCLASS64 {
		return 0, fmt.Errorf("%s is no 64-bit shared library", path)
	}
	symbols, err := e.DynamicSymbols() // without the first, which is null
	if err != nil {
		return 0, err
	}
	for i, s := range symbols {
		if s.Section != elf.SHN_UNDEF || !strings.HasPrefix(s.Name, prefix) {
			continue
		}
		info := []byte{elf.ST_INFO(elf.STB_WEAK, elf.ST_TYPE(s.Info))}
		if _, err := file.WriteAt(info, int64(table.Offset)+int64(i+1)*symbolSize+infoOffset); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
