package doctor

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"triton/cmd/cli/process"
	"triton/pkg/ui"
)

// sharedMemory looks at the file system in which clients make shared memory.
func sharedMemory() []Finding {
	const dir, little = "/dev/shm", 64 << 20
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return []Finding{about("shared memory", Warning, "no %s: %v", dir, err).do("clients on this machine cannot send tensors through shared memory; mount a tmpfs there")}
	}
	size, free := float64(s.Blocks)*float64(s.Bsize), float64(s.Bavail)*float64(s.Bsize)
	f := about("shared memory", OK, "%s free of %s in %s", ui.Bytes(free), ui.Bytes(size), dir)
	if size <= little {
		f.State = Note
		f = f.do("only clients with system shared memory need more (containers: --shm-size; Kubernetes: an emptyDir with medium Memory at /dev/shm); Python models of this server use none of it")
	}
	return []Finding{f}
}

// limits looks at what the kernel lets this process have.
func limits(context.Context, process.Process, options) []Finding {
	const enough = 4096
	var files unix.Rlimit
	var found []Finding
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil {
		f := about("open files", OK, "%s, at most %s", number(files.Cur), number(files.Max))
		if files.Max < enough {
			f.State = Warning
			f = f.do("each connection and each Python process needs several; raise the hard limit (\"ulimit -Hn\", systemd: LimitNOFILE=, containers: --ulimit nofile=65536)")
		}
		found = append(found, f)
	}
	if f, ok := processes("/"); ok {
		found = append(found, f)
	}
	if text, err := os.ReadFile("/proc/sys/vm/memfd_noexec"); err == nil && strings.TrimSpace(string(text)) == "2" {
		found = append(found, about("memfd", Note, "vm.memfd_noexec is 2").do("libraries built for Triton need a memory file; the server asks for one that cannot be executed, which this setting allows"))
	}
	return found
}

// processes looks at the number of processes and threads that the control group allows.
func processes(root string) (Finding, bool) {
	const enough = 1024
	text, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return Finding{}, false
	}
	_, group, ok := strings.Cut(strings.TrimSpace(string(text)), "0::")
	if !ok {
		return Finding{}, false
	}
	group, _, _ = strings.Cut(group, "\n")
	limit, err := os.ReadFile(filepath.Join(root, "sys/fs/cgroup", group, "pids.max"))
	if err != nil {
		return Finding{}, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(limit)), 10, 64)
	if err != nil { // "max"
		return about("processes", OK, "no limit in the control group"), true
	}
	f := about("processes", OK, "%d processes and threads in the control group", n)
	if n < enough {
		f.State = Warning
		f = f.do("each instance of a Python model is a process, and engines start threads; raise pids.max (containers: --pids-limit)")
	}
	return f, true
}

func number(n uint64) string {
	if n == unix.RLIM_INFINITY {
		return "no limit"
	}
	return strconv.FormatUint(n, 10)
}

// clock asks the kernel whether the clock is kept by a time service. Signed requests of stores and
// tokens are refused when it is wrong.
func clock(context.Context, process.Process, options) []Finding {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return []Finding{about("clock", Note, "not known: %v", err)}
	}
	if state == unix.TIME_ERROR || t.Status&unix.STA_UNSYNC != 0 {
		return []Finding{about("clock", Note, "no time service keeps it").do("remote stores refuse signed requests when it is wrong by minutes; start a time service on the host")}
	}
	return []Finding{about("clock", OK, "kept by a time service")}
}

// freeSpace returns the bytes that this user may still write in a folder.
func freeSpace(dir string) (uint64, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return s.Bavail * uint64(s.Bsize), true
}
