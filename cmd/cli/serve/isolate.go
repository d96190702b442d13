package serve

import (
	"errors"
	"fmt"

	"triton/cmd/cli/machine"
	"triton/cmd/cli/process"
	"triton/server"
	"triton/server/backend/isolated/host"
)

// isolatedModel is the first argument of this program when it runs one model for a server. It
// is no command for people, so no help shows it.
const isolatedModel = "isolated-model"

// self is the file of this program, also after it was replaced on disk.
const self = "/proc/self/exe"

func (o *options) setIsolation(v string) error {
	switch v {
	case "none", "process":
		o.Isolation.All = v == "process"
		return nil
	}
	return errors.New("invalid argument for --isolation: expecting none or process")
}

// bindIsolation defines the further flags of isolated models.
func (o *options) bindIsolation(t *table) {
	i := &o.Isolation
	t.list(&i.Environ, nil, "isolation-env",
		"Name of a variable of the environment that isolated models get besides those of the dynamic linker, C library, Go, engines and CUDA. It may end in *; * alone is all. May be repeated.")
	t.value(intValue[int64]{&i.MemoryLimit, 0, maxInt, "Error: --isolation-output-memory must not be negative."}, "isolation-output-memory",
		"Maximum number of bytes of shared memory that all isolated models together have for their outputs. 0 is no limit.")
	t.MarkOwn("isolation", "isolation-env", "isolation-output-memory")
}

// isolatedProgram is the command line of a process that runs one model.
func (o *options) isolatedProgram() []string {
	return []string{self, isolatedModel, o.library, o.BackendDirectory}
}

// IsIsolatedModel reports whether arguments are those of a process that runs one model.
func IsIsolatedModel(args []string) bool { return len(args) > 1 && args[1] == isolatedModel }

// RunIsolatedModel runs one model for the server that has started this process, and returns
// the exit code.
func RunIsolatedModel(p process.Process) int {
	err := errors.New("this program was not started by a server")
	if len(p.Args) == 5 {
		err = host.Main(p.Args[4], p.Environ, server.NewBackends(machine.ONNXRuntime(p, p.Args[2], p.Args[3])))
	}
	if err != nil {
		fmt.Fprintf(p.Stderr, "error: running an isolated model: %s\n", err)
		return process.Failure
	}
	return 0
}
