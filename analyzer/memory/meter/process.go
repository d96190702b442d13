package meter

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Memory is the memory of processes in bytes.
type Memory struct {
	Anonymous uint64 // heap, stacks, weights that were read into memory; with swapped pages
	Shared    uint64 // shared memory, counted once for all processes that map it
	// Files are the pages of files that only these processes map. FS.Process
	// leaves them out; FS.Files reads them.
	Files uint64
	RSS   uint64 // all pages, for comparison with other tools
}

// Own is the memory that nobody else maps and that the kernel cannot take back.
func (m Memory) Own() uint64 { return m.Anonymous + m.Shared }

// Process reads the kernel's sums over all mappings of one process. Pages that forked processes
// share are divided among them, so that the sum over a tree counts each page once.
func (f FS) Process(pid int) (Memory, error) {
	v, err := f.kilobytes("proc", strconv.Itoa(pid), "smaps_rollup")
	if err != nil {
		return Memory{}, err
	}
	anonymous, ok := v["Pss_Anon"]
	if !ok { // before Linux 5.9
		anonymous = v["Anonymous"]
	}
	return Memory{
		Anonymous: anonymous + v["SwapPss"] + v["Private_Hugetlb"],
		Shared:    v["Pss_Shmem"] + v["Shared_Hugetlb"],
		RSS:       v["Rss"],
	}, nil
}

// Processes returns the sum over processes. Those that have ended are left out; it is an error if
// none is left.
func (f FS) Processes(pids []int) (Memory, error) {
	var sum Memory
	var errs []error
	for _, pid := range pids {
		m, err := f.Process(pid)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		sum.Anonymous += m.Anonymous
		sum.Shared += m.Shared
		sum.RSS += m.RSS
	}
	if len(errs) == len(pids) {
		return Memory{}, errors.Join(errs...)
	}
	return sum, nil
}

// Unshared returns the pages that only this process maps, in bytes: its unique set size.
func (f FS) Unshared(pid int) (uint64, error) {
	v, err := f.kilobytes("proc", strconv.Itoa(pid), "smaps_rollup")
	return v["Private_Clean"] + v["Private_Dirty"] + v["Private_Hugetlb"], err
}

// Files returns the pages of files that only this process maps. It walks all mappings, which takes
// milliseconds.
func (f FS) Files(pid int) (uint64, error) {
	file, err := os.Open(f.path("proc", strconv.Itoa(pid), "smaps"))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var sum, private, anonymous uint64
	counts := false
	flush := func() {
		if counts {
			sum += private - min(private, anonymous) // written pages of a file are anonymous
		}
		private, anonymous = 0, 0
	}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		name, bytes, ok := kilobyteLine(lines.Text())
		switch {
		case !ok && isMapping(lines.Text()):
			flush()
			counts = ofFile(lines.Text())
		case name == "Private_Clean" || name == "Private_Dirty":
			private += bytes
		case name == "Anonymous":
			anonymous += bytes
		}
	}
	flush()
	return sum, lines.Err()
}

// isMapping reports whether a line of smaps starts a mapping: "5574-5579 r-xp 0 fe:00 247 /path".
func isMapping(line string) bool {
	first, _, _ := strings.Cut(line, " ")
	return strings.Contains(first, "-")
}

// ofFile reports whether a mapping is of a file, and not of shared memory.
func ofFile(line string) bool {
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[4] == "0" {
		return false
	}
	name := fields[5]
	for _, shared := range []string{"/dev/shm/", "/memfd:", "/SYSV", "/dev/zero", "/dev/nvidia"} {
		if strings.HasPrefix(name, shared) {
			return false
		}
	}
	return strings.HasPrefix(name, "/")
}

// Tree returns a process and its descendants. It follows the kernel's list of children of each
// thread.
func (f FS) Tree(pid int) []int {
	tree := []int{pid}
	for i := 0; i < len(tree); i++ {
		files, _ := filepath.Glob(f.path("proc", strconv.Itoa(tree[i]), "task", "*", "children"))
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				continue // the thread has ended
			}
			for _, field := range strings.Fields(string(b)) {
				if child, err := strconv.Atoi(field); err == nil {
					tree = append(tree, child)
				}
			}
		}
	}
	return tree
}
