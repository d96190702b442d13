// Package audit writes who did what, when and with which result, as lines of JSON. Callers
// never wait for the disk: lines go through a queue of bounded length.
package audit

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure a log.
type Options struct {
	// File is the file to append to; "stderr" is Stderr.
	File   string
	Stderr io.Writer
	// Required refuses calls that cannot be recorded; otherwise their records are dropped and
	// counted.
	Required bool
	// MaxBytes is the size at which the file is renamed to <file>.1, which replaces an earlier
	// one; 0: it grows without limit.
	MaxBytes int64
	// Queue is the number of calls whose records are not written yet, those in flight included;
	// 0 is 65536.
	Queue int
	// Reopen has a value each time that the file shall be opened again, because a program that
	// rotates files has renamed it; nil: never.
	Reopen <-chan struct{}
	Log    *slog.Logger
}

// Log is an open log.
type Log struct {
	opts     Options
	lines    chan []byte
	reserved atomic.Int64 // calls that may still commit a record, and records in the queue
	dropped  atomic.Int64
	failing  atomic.Bool
	file     *file  // used by the writer only
	buf      []byte // used by the writer only
	closed   chan struct{}
	done     chan struct{} // closed when the writer has ended
	closing  sync.Once
}

const defaultQueue = 1 << 16

// Open opens a log and starts its writer.
func Open(o Options) (*Log, error) {
	if o.Queue == 0 {
		o.Queue = defaultQueue
	}
	unmoved := func(err error) { o.Log.Error("the audit log cannot be renamed and grows", "error", err) }
	l := &Log{opts: o, lines: make(chan []byte, o.Queue), closed: make(chan struct{}), done: make(chan struct{}), file: &file{name: o.File, max: o.MaxBytes, unmoved: unmoved}}
	if o.File == "stderr" && o.Stderr != nil {
		l.file.to = o.Stderr
	} else if err := l.file.open(); err != nil {
		return nil, err
	}
	go l.write()
	return l, nil
}

// Slot is a place in the queue for the record of one call; the zero value records nothing.
type Slot struct{ log *Log }

// Reserve takes a place for the record of a call. It reports false if the call must be refused,
// because it could not be recorded.
func (l *Log) Reserve() (Slot, bool) {
	if l.opts.Required && l.failing.Load() {
		return Slot{}, false
	}
	if l.take(cap(l.lines)) {
		return Slot{l}, true
	}
	if l.opts.Required {
		return Slot{}, false
	}
	l.dropped.Add(1)
	return Slot{}, true
}

// take takes a place if fewer than that many are taken.
func (l *Log) take(most int) bool {
	if l.reserved.Add(1) > int64(most) {
		l.reserved.Add(-1)
		return false
	}
	return true
}

// Refused writes the record of a call that was refused, or drops it. Refusals take half of the queue
// at most: callers that are refused all the time leave places for calls that are admitted.
func (l *Log) Refused(r *Record) {
	if !l.take(max(cap(l.lines)/2, 1)) {
		l.dropped.Add(1)
		return
	}
	s := Slot{l}
	s.Commit(r)
}

// Commit writes the record of the call. It never waits, since the place is reserved.
func (s *Slot) Commit(r *Record) {
	if s.log != nil {
		s.log.lines <- r.append(make([]byte, 0, 256))
		s.log = nil
	}
}

// Dropped returns the number of calls that were not recorded.
func (l *Log) Dropped() int64 { return l.dropped.Load() }

// Close writes what is in the queue and closes the file. Records of calls that end later are
// lost.
func (l *Log) Close() error {
	l.closing.Do(func() { close(l.closed) })
	<-l.done
	return l.file.close()
}

// write is the writer.
func (l *Log) write() {
	defer close(l.done)
	for {
		select {
		case line := <-l.lines:
			l.writeBatch(line)
			continue
		case <-l.opts.Reopen:
			l.reopen()
			continue
		case <-l.closed:
		}
		select {
		case line := <-l.lines:
			l.writeBatch(line)
		default:
			return
		}
	}
}

// reopen opens the file again between two batches, so no record is torn or lost. If it cannot be
// opened the earlier one stays.
func (l *Log) reopen() {
	if err := l.file.reopen(); err != nil {
		l.opts.Log.Error("the audit log cannot be opened again", "error", err)
	}
}

// batch bounds the bytes that are written at once, roughly.
const batch = 64 << 10

// writeBatch writes a line and those that wait behind it.
func (l *Log) writeBatch(line []byte) {
	buf, n := append(l.buf[:0], line...), int64(1)
more:
	for len(buf) < batch {
		select {
		case line := <-l.lines:
			buf = append(buf, line...)
			n++
		default:
			break more
		}
	}
	l.buf = buf
	l.flush(buf)
	l.reserved.Add(-n)
}

// retry is how long the writer waits after a failure before it tries again.
const retry = 200 * time.Millisecond

// flush writes the lines of records. A failure is logged once. Records that must not be lost
// are kept until they can be written or the log is closed.
func (l *Log) flush(lines []byte) {
	for {
		written, err := l.file.write(lines)
		if err == nil {
			if l.failing.Swap(false) {
				l.opts.Log.Info("the audit log can be written again")
			}
			return
		}
		lines = lines[written:]
		if !l.failing.Swap(true) {
			l.opts.Log.Error("the audit log cannot be written", "error", err)
		}
		if !l.opts.Required {
			l.dropped.Add(int64(bytes.Count(lines, []byte{'\n'})))
			return
		}
		select {
		case <-l.closed:
			l.dropped.Add(int64(bytes.Count(lines, []byte{'\n'})))
			return
		case <-time.After(retry):
		}
	}
}
