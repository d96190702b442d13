package isolated

import (
	"bytes"
	"os"
	"strconv"
)

// residentBytes returns the private memory of a process; 0 if it is not known.
func residentBytes(pid int) uint64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("RssAnon:")); ok {
			kib, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
			n, _ := strconv.ParseUint(string(kib), 10, 64)
			return n << 10
		}
	}
	return 0
}
