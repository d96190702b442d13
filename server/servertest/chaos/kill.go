package chaos

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// kill ends the process of a Python or an isolated model. Its requests may fail until it is replaced; those
// of other models may not.
type kill struct{}

func (kill) applies(m Model, _ Control) bool { return m.ownProcess() }

func (kill) play(e *episode) error {
	signals := []syscall.Signal{syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGABRT}
	versions := e.x.selects(keys(e.x.current))
	var pids []int
	err := e.eventually("each version has one process", func() bool { // those of former versions may be ending
		pids = e.processes()
		return len(pids) == len(versions)
	})
	if err != nil {
		return err
	}
	pid := pids[e.rng.IntN(len(pids))]
	e.oracle.fails(e.x, 0, time.Now())
	process, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if err := process.Signal(signals[e.rng.IntN(len(signals))]); err != nil {
		return err
	}
	err = e.eventually("the process is replaced", func() bool {
		now := e.processes()
		return len(now) == len(pids) && !slices.Contains(now, pid)
	})
	if err != nil {
		return err
	}
	for _, v := range versions {
		want := e.x.current[v]
		if err := e.eventually(fmt.Sprintf("version %d serves", v), func() bool { a := e.probe(v); return a.err == nil && a.edition == want }); err != nil {
			return err
		}
	}
	e.oracle.works(e.x, 0, time.Now())
	return nil
}

// processes returns the running processes of the model.
func (e *episode) processes() []int {
	noted, _ := filepath.Glob(filepath.Join(e.Root, "pids", e.x.Name+".*"))
	var all []int
	for _, pid := range e.children() {
		if slices.ContainsFunc(noted, func(path string) bool { return strings.HasSuffix(path, "."+pid) }) || e.isolates(pid) {
			n, _ := strconv.Atoi(pid)
			all = append(all, n)
		}
	}
	return all
}

// isolates reports whether a process runs the model for the server: its last argument names it.
func (e *episode) isolates(pid string) bool {
	line, _ := os.ReadFile("/proc/" + pid + "/cmdline") // it may have ended
	return bytes.Contains(line, fmt.Appendf(nil, `{"model":%q,`, e.x.Name))
}
