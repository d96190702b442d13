package python

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/extension"
	"triton/pkg/modelconfig/requirement"
	"triton/pkg/status"
	"triton/server/backend"
)

// limits are what a child imposes on itself before it imports anything.
type limits struct {
	Memory int64 `json:"memory,omitempty"` // bytes of private memory
	CPUs   []int `json:"cpus,omitempty"`
	Nice   int   `json:"nice,omitempty"`
}

// processOf reads the parameters of a model that describe its processes.
func processOf(spec backend.Spec) (extension.Process, error) {
	s, found := extension.Read(modelconfig.New("", spec.Config))
	if err := modelconfig.FirstError(found); err != nil || s.Process == nil {
		return extension.Process{}, err
	}
	if name := s.Process.Requirements; name != "" {
		folder := filepath.Dir(spec.Dir)
		if _, err := modelconfig.ReadOwn(folder, name); err != nil { // pip quotes its lines
			return extension.Process{}, status.Wrap(err, status.InvalidArg, "the requirements of a Python model: %s", status.From(err).Msg)
		}
		s.Process.Requirements = filepath.Join(folder, name)
	}
	return *s.Process, nil
}

// limitsArgument returns the argument of the runner that imposes limits; empty: there are none.
func limitsArgument(p extension.Process) (string, error) {
	if p.Memory == 0 && p.CPUs == nil && p.Nice == 0 {
		return "", nil
	}
	text, err := json.Marshal(limits{Memory: p.Memory, CPUs: p.CPUs, Nice: p.Nice})
	return string(text), err
}

// threadVariables are read by the numeric libraries of Python packages.
var threadVariables = []string{
	"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
}

// withThreads returns an environment that sets the number of threads; n 0: unchanged.
func withThreads(env []string, n int) []string {
	if n == 0 {
		return env
	}
	if env == nil {
		env = (&exec.Cmd{}).Environ()
	}
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(threadVariables, name)
	})
	for _, name := range threadVariables {
		env = append(env, name+"="+strconv.Itoa(n))
	}
	return env
}

// checkParameters checks the parameters of NVIDIA's Python backend.
func checkParameters(spec backend.Spec) error {
	return modelconfig.FirstError(requirement.Check(Name, modelconfig.New("", spec.Config)))
}
