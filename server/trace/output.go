package trace

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
)

// maxUnwritten bounds the bytes of traces that wait to be written.
const maxUnwritten = 64 << 20

// output writes trace files: the one at path, which grows, and numbered ones beside it. Each file
// is a JSON array at all times. Requests may end under locks, so another goroutine writes. It runs
// only while there are traces to write. A trace that cannot be written is lost and the log has the
// reason; requests do not wait for the disk.
type output struct {
	path string
	log  *slog.Logger

	mu struct {
		sync.Mutex
		waiting []piece
		size    int    // bytes of pieces that are not written
		queued  uint64 // pieces so far
		written uint64 // of them
		writing bool   // a goroutine writes
		full    bool   // a piece was refused since the last one was accepted
		closed  bool   // no more is accepted
		// progress is signaled after each piece.
		progress sync.Cond
	}

	// Used by the writing goroutine only, until close takes over the file.
	index uint64 // of the next numbered file
	file  *os.File
	end   int64 // offset of the closing bracket of file
}

// piece is traces to write as elements of a JSON array.
type piece struct {
	entries  []byte
	numbered bool // as a numbered file of its own
}

var errUnwritten = errors.New("too many traces wait to be written")

func newOutput(path string, log *slog.Logger) *output {
	o := &output{path: path, log: log}
	o.mu.progress.L = &o.mu
	return o
}

// next queues the content of the next numbered file.
func (o *output) next(entries []byte) { o.queue(piece{entries, true}) }

// add queues an addition to the file at path; the first one replaces what is there.
func (o *output) add(entries []byte) { o.queue(piece{entries, false}) }

func (o *output) queue(p piece) {
	if err := o.accept(p); err != nil {
		o.logLost(fmt.Errorf("%s: %w", o.path, err))
	}
}

// accept queues a piece, or returns why it is lost. Of consecutive pieces that are lost
// because the queue is full, only the first returns an error.
func (o *output) accept(p piece) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.mu.closed:
		return os.ErrClosed
	case o.mu.size > 0 && o.mu.size+len(p.entries) > maxUnwritten:
		if o.mu.full {
			return nil
		}
		o.mu.full = true
		return errUnwritten
	}
	o.mu.full = false
	o.mu.waiting = append(o.mu.waiting, p)
	o.mu.size += len(p.entries)
	o.mu.queued++
	if !o.mu.writing {
		o.mu.writing = true
		go o.run()
	}
	return nil
}

// run writes the queued pieces until the queue is empty.
func (o *output) run() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.mu.waiting) > 0 {
		pieces := o.mu.waiting
		o.mu.waiting = nil
		for i := range pieces {
			o.mu.Unlock()
			if err := o.write(&pieces[i]); err != nil {
				o.logLost(err)
			}
			o.mu.Lock()
			o.mu.size -= len(pieces[i].entries)
			o.mu.written++
			o.mu.progress.Broadcast()
			pieces[i].entries = nil
		}
	}
	o.mu.writing = false
}

func (o *output) write(p *piece) error {
	if p.numbered {
		path := o.path + "." + strconv.FormatUint(o.index, 10)
		o.index++
		return os.WriteFile(path, array('[', p.entries), 0o644)
	}
	first := byte(',')
	if o.file == nil {
		f, err := os.Create(o.path)
		if err != nil {
			return err
		}
		o.file, first = f, '['
	}
	text := array(first, p.entries)
	if _, err := o.file.WriteAt(text, o.end); err != nil {
		return err
	}
	o.end += int64(len(text)) - 1
	return nil
}

// array returns first, which begins or continues an array, the entries and a closing
// bracket.
func array(first byte, entries []byte) []byte {
	text := make([]byte, 0, len(entries)+2)
	return append(append(append(text, first), entries...), ']')
}

func (o *output) logLost(err error) {
	o.log.Error("failed creating trace file: " + err.Error())
}

// sync waits until all pieces that were queued before are written.
func (o *output) sync() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for n := o.mu.queued; o.mu.written < n; {
		o.mu.progress.Wait()
	}
}

// close refuses further traces, waits until the others are written and closes the file at path.
func (o *output) close() error {
	o.mu.Lock()
	o.mu.closed = true
	o.mu.Unlock()
	o.sync()
	o.mu.Lock()
	f := o.file
	o.file = nil
	o.mu.Unlock()
	if f == nil {
		return nil
	}
	return f.Close()
}
