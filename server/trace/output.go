package trace

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
)

// output is where trace files go: the one at path, which grows, and numbered
// ones beside it. Every file is a JSON array at all times. A trace that cannot
// be written is lost and said so in the log; requests do not suffer.
type output struct {
	path string
	log  *slog.Logger

	mu struct {
		sync.Mutex
		index  uint64 // of the next numbered file
		file   *os.File
		end    int64 // where the closing bracket of file stands
		closed bool
	}
}

// next writes the next numbered file.
func (o *output) next(entries []byte) {
	o.mu.Lock()
	path := o.path + "." + strconv.FormatUint(o.mu.index, 10)
	o.mu.index++
	o.mu.Unlock()
	text := make([]byte, 0, len(entries)+2)
	text = append(append(append(text, '['), entries...), ']')
	if err := os.WriteFile(path, text, 0o644); err != nil {
		o.lost(err)
	}
}

// add appends to the file at path; the first time it begins anew.
func (o *output) add(entries []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.append(entries); err != nil {
		o.lost(err)
	}
}

func (o *output) append(entries []byte) error {
	first := byte(',')
	if o.mu.file == nil {
		if o.mu.closed {
			return fmt.Errorf("%s: %w", o.path, os.ErrClosed)
		}
		f, err := os.Create(o.path)
		if err != nil {
			return err
		}
		o.mu.file, first = f, '['
	}
	text := make([]byte, 0, len(entries)+2)
	text = append(append(append(text, first), entries...), ']')
	if _, err := o.mu.file.WriteAt(text, o.mu.end); err != nil {
		return err
	}
	o.mu.end += int64(len(text)) - 1
	return nil
}

func (o *output) lost(err error) {
	o.log.Error("failed creating trace file: " + err.Error())
}

// close ends the file at path; nothing is added to it any more.
func (o *output) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.mu.file
	o.mu.file, o.mu.closed = nil, true
	if f == nil {
		return nil
	}
	return f.Close()
}
