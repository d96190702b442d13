package extension

import (
	"slices"
	"time"

	"triton/pkg/modelconfig"
)

// Isolation says whether a model runs in a process of its own.
type Isolation struct {
	// Process is true for "process" and false for "none"; nil: the server decides.
	Process *bool
	Limits  Process // of the process
}

// minIsolatedMemory is what a process of this program needs with ONNX Runtime.
const minIsolatedMemory = 256 << 20

// ReadIsolation reads the parameters of isolation. The configuration need not be complete.
func ReadIsolation(c *modelconfig.Config) (Isolation, []modelconfig.Finding) {
	r := reader{Config: c}
	i := r.isolation()
	return i, r.found
}

func (r *reader) isolation() (i Isolation) {
	defer r.unknown(keyIsolation)
	keys := []string{keyIsolation, keyIsolationMemory, keyIsolationCPUs, keyIsolationThreads, keyIsolationNice, keyIsolationExecute}
	first := slices.IndexFunc(keys, func(key string) bool { return r.Parameters[key] != nil })
	switch {
	case first < 0:
		return i
	case r.GetPlatform() == "ensemble" || r.GetEnsembleScheduling() != nil:
		r.add(keys[first], "set it for a composing model", "an ensemble has no process of its own")
		return i
	case r.GetBackend() == "python":
		r.add(keys[first], "remove it", "Python models always run in processes of their own; their limits are python_*")
		return i
	}
	if text, ok := r.text(keyIsolation); ok {
		on := text == "process"
		if !on && text != "none" {
			r.add(keyIsolation, `write "process" or "none"`, "'%s' is neither process nor none", text)
			return i
		}
		i.Process = &on
	}
	i.Limits = Process{
		Memory:  r.number(keyIsolationMemory, minIsolatedMemory, 1<<50),
		CPUs:    r.processors(keyIsolationCPUs),
		Threads: int(r.number(keyIsolationThreads, 1, maxThreads)),
		Nice:    int(r.number(keyIsolationNice, 0, maxNice)),
		Execute: time.Duration(r.number(keyIsolationExecute, 1, maxExecute.Milliseconds())) * time.Millisecond,
	}
	return i
}
