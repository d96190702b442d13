package sharedlib

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// needs is what a library takes from the program that opens it.
type needs struct {
	servers []string // names of the server's library among its dependencies
	symbols []string // functions of the server that it refers to
}

// serverLibrary matches the names of the server's library: the plain one, and those that
// tools for Python packages add a hash to.
var serverLibrary = regexp.MustCompile(`^libtritonserver(-[0-9A-Za-z]+)?\.so(\.[0-9]+)*$`)

// serverPrefixes start the names of the server's functions.
var serverPrefixes = []string{"TRITONSERVER_", "TRITONBACKEND_", "TRITONCACHE_", "TRITONREPOAGENT_"}

// inspect reads the needs of the library at a path. It refuses a library that this machine
// cannot run, which the loader reports as a missing file.
func inspect(path string) (needs, error) {
	f, err := elf.Open(path)
	if err != nil {
		if bad := (*elf.FormatError)(nil); errors.As(err, &bad) || errors.Is(err, io.EOF) {
			return needs{}, failed(fmt.Sprintf("%s: not a shared library: %v", path, err))
		}
		return needs{}, failed(fmt.Sprintf("%s: cannot open shared object file: %v", path, unwrapped(err)))
	}
	defer f.Close()
	if err := runnable(f, path); err != nil {
		return needs{}, err
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return needs{}, failed(fmt.Sprintf("%s: its dynamic section is damaged: %v", path, err))
	}
	symbols, err := f.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return needs{}, failed(fmt.Sprintf("%s: its symbol table is damaged: %v", path, err))
	}
	var n needs
	for _, l := range libraries {
		if serverLibrary.MatchString(l) {
			n.servers = append(n.servers, l)
		}
	}
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF && elf.ST_BIND(s.Info) != elf.STB_WEAK && ofServer(s.Name) {
			n.symbols = append(n.symbols, s.Name)
		}
	}
	return n, nil
}

func ofServer(symbol string) bool {
	return slices.ContainsFunc(serverPrefixes, func(p string) bool { return strings.HasPrefix(symbol, p) })
}

// machines are the ELF machines of Go's architectures.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

func runnable(f *elf.File, path string) error {
	switch {
	case f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB:
		return failed(fmt.Sprintf("%s: built for another kind of machine (%v, %v); this program needs a 64-bit little-endian library", path, f.Class, f.Data))
	case machines[runtime.GOARCH] != f.Machine:
		return failed(fmt.Sprintf("%s: built for %v, and this machine is %s", path, f.Machine, runtime.GOARCH))
	case f.Type != elf.ET_DYN:
		return failed(fmt.Sprintf("%s: not a shared library but %v", path, f.Type))
	}
	return nil
}

// unwrapped returns the error of the system without operation and path.
func unwrapped(err error) error {
	for u := errors.Unwrap(err); u != nil; u = errors.Unwrap(err) {
		err = u
	}
	return err
}
