package child

import (
	"bufio"
	"bytes"
	"io"
	"sync"
)

// tail keeps the last lines.
type tail struct {
	mu struct {
		sync.Mutex
		lines []string
	}
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.mu.lines) == keepLines {
		t.mu.lines = append(t.mu.lines[:0], t.mu.lines[1:]...)
	}
	t.mu.lines = append(t.mu.lines, line)
}

func (t *tail) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.mu.lines...)
}

// readLines calls each with every line of r until r ends. A line longer than maxLine
// comes in pieces.
func readLines(r io.Reader, each func(string)) {
	in := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := in.ReadSlice('\n')
		if len(line) > 0 {
			each(string(bytes.TrimRight(line, "\r\n")))
		}
		if err != nil && err != bufio.ErrBufferFull { //nolint:errorlint // ReadSlice returns it as it is
			return
		}
	}
}
