package sharedlib

import (
	"bytes"
	"debug/elf"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamedObject(t *testing.T) {
	t.Parallel()
	b := namedObject("libtritonserver.so", elf.EM_AARCH64)
	require.Less(t, len(b), 1024)
	f, err := elf.NewFile(bytes.NewReader(b))
	require.NoError(t, err)
	require.Equal(t, elf.EM_AARCH64, f.Machine)
	require.Equal(t, elf.ET_DYN, f.Type)
	kinds := map[elf.ProgType]elf.ProgFlag{}
	for _, p := range f.Progs {
		kinds[p.Type] = p.Flags
	}
	require.Equal(t, map[elf.ProgType]elf.ProgFlag{elf.PT_LOAD: elf.PF_R | elf.PF_W, elf.PT_DYNAMIC: elf.PF_R | elf.PF_W, elf.PT_GNU_STACK: elf.PF_R | elf.PF_W}, kinds)
}

func TestServerLibraryNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"libtritonserver.so": true, "libtritonserver-717102f0.so": true, "libtritonserver.so.2": true,
		"libtritonserverstub.so": false, "libtritonclient.so": false, "xlibtritonserver.so": false,
	} {
		require.Equal(t, want, serverLibrary.MatchString(name), name)
	}
}
