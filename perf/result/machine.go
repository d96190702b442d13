package result

import (
	"bufio"
	"os"
	"runtime"
	"strings"
)

// ThisMachine describes the machine of this process.
func ThisMachine() Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), GoVersion: runtime.Version(), CPU: cpuName("/proc/cpuinfo")}
	if name, err := os.Hostname(); err == nil {
		m.Host = name
	}
	return m
}

// cpuName returns the name of the first processor, empty where the system has no such file.
func cpuName(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, name, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(name)
		}
	}
	return ""
}
