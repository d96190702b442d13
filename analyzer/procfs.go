package analyzer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// ProcFS implements Host with Linux's /proc and /sys. On other systems its methods
// return errors.
type ProcFS struct {
	// Root is the folder with proc and sys; empty means "/".
	Root string
}

var _ Host = ProcFS{}

func (p ProcFS) file(parts ...string) string {
	root := p.Root
	if root == "" {
		root = "/"
	}
	return filepath.Join(append([]string{root}, parts...)...)
}

// Process reads the kernel's sums over all mappings.
func (p ProcFS) Process(pid int) (HostMemory, error) {
	values, err := p.kilobytes("proc", strconv.Itoa(pid), "smaps_rollup")
	if err != nil {
		return HostMemory{}, err
	}
	return HostMemory{PSS: values["Pss"], RSS: values["Rss"]}, nil
}

// kilobytes reads a file of lines such as "Pss:   12 kB" and returns bytes.
func (p ProcFS) kilobytes(parts ...string) (map[string]uint64, error) {
	b, err := os.ReadFile(p.file(parts...))
	if err != nil {
		return nil, err
	}
	values := make(map[string]uint64)
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) != 3 || f[2] != "kB" {
			continue
		}
		if n, err := strconv.ParseUint(f[1], 10, 54); err == nil {
			values[strings.TrimSuffix(f[0], ":")] = n << 10
		}
	}
	return values, nil
}

// Tree follows the kernel's list of children of each thread.
func (p ProcFS) Tree(pid int) []int {
	tree := []int{pid}
	for i := 0; i < len(tree); i++ {
		files, _ := filepath.Glob(p.file("proc", strconv.Itoa(tree[i]), "task", "*", "children"))
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				continue // the thread has ended
			}
			for _, f := range strings.Fields(string(b)) {
				if child, err := strconv.Atoi(f); err == nil {
					tree = append(tree, child)
				}
			}
		}
	}
	return tree
}

// Limit returns the machine's memory or, if it is lower, the limit of a control
// group of this process.
func (p ProcFS) Limit() (uint64, string, error) {
	values, err := p.kilobytes("proc", "meminfo")
	if err != nil {
		return 0, "", err
	}
	limit, source := values["MemTotal"], "memory of this machine"
	if limit == 0 {
		return 0, "", fmt.Errorf("%s has no MemTotal", p.file("proc", "meminfo"))
	}
	for _, name := range p.groupFiles() {
		b, err := os.ReadFile(p.file(name))
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			return 0, "", err
		}
		// "max" means no limit.
		n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
		if err == nil && n < limit {
			limit, source = n, "memory limit of the control group"
		}
	}
	return limit, source, nil
}

// groupFiles returns the files with the limits of this process's control group and
// its ancestors, in both versions of the control-group file system.
func (p ProcFS) groupFiles() []string {
	b, err := os.ReadFile(p.file("proc", "self", "cgroup"))
	if err != nil {
		return nil
	}
	var files []string
	for line := range strings.Lines(string(b)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		top, name := "sys/fs/cgroup", "memory.max"
		if parts[1] == "memory" {
			top, name = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if parts[1] != "" {
			continue
		}
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			files = append(files, path.Join(top, group, name))
			if group == "/" {
				break
			}
		}
	}
	return files
}
