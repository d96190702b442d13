package audit

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// file is a file that is opened again when it was renamed, removed or has grown too large.
type file struct {
	name string
	max  int64
	to   io.Writer // stderr; nil: f
	f    *os.File
	size int64 // 0 after a renaming that failed, so that the next one is tried as much later
	torn bool  // the last line is incomplete, and must be ended
	// unmoved is called when the file cannot be renamed. It grows then: that is better than a gap.
	unmoved func(error)
}

func (f *file) open() error {
	to, err := os.OpenFile(f.name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := to.Stat()
	if err != nil {
		return errors.Join(err, to.Close())
	}
	f.f, f.size = to, info.Size()
	return nil
}

// reopen opens the file again and closes the earlier one.
func (f *file) reopen() error {
	if f.to != nil {
		return nil
	}
	old := f.f
	if err := f.open(); err != nil {
		return err
	}
	f.torn = f.torn && f.size > 0
	if old == nil {
		return nil
	}
	return errors.Join(old.Sync(), old.Close())
}

func (f *file) close() error {
	if f.f == nil {
		return nil
	}
	err := errors.Join(f.f.Sync(), f.f.Close())
	f.f = nil
	return err
}

// write appends whole lines and returns how many bytes of them it wrote, without the line that a
// failure has torn: that is written again. What is there of it is removed, or ended if another
// program writes to the file too, so that it damages no other line.
func (f *file) write(lines []byte) (n int, err error) {
	if f.to == nil {
		if err := f.renew(len(lines)); err != nil {
			return 0, err
		}
	}
	if f.torn {
		if _, err := f.writer().Write([]byte{'\n'}); err != nil {
			return 0, err
		}
		f.torn = false
	}
	n, err = f.writer().Write(lines)
	if n > 0 && n < len(lines) && lines[n] == '\n' { // all but the end of a line
		f.torn = true
		f.size += int64(n)
		return n + 1, err
	}
	whole := bytes.LastIndexByte(lines[:n], '\n') + 1
	if whole < n && !f.cut(int64(n), int64(whole)) {
		f.torn = true
	}
	f.size += int64(whole)
	return whole, err
}

func (f *file) writer() io.Writer {
	if f.to != nil {
		return f.to
	}
	return f.f
}

// cut removes the end of a write of n bytes, of which the first ones are whole lines. It reports
// false if it cannot be removed, or is not the end of the file.
func (f *file) cut(n, whole int64) bool {
	if f.f == nil {
		return false
	}
	info, err := f.f.Stat()
	return err == nil && info.Size() == f.size+n && f.f.Truncate(f.size+whole) == nil
}

// renew opens the file again if another program has moved it away, as logrotate does, or if it
// would grow too large.
func (f *file) renew(more int) error {
	if f.f != nil {
		ours, err := f.f.Stat()
		now, gone := os.Stat(f.name)
		if err != nil || gone != nil || !os.SameFile(ours, now) {
			_ = f.close()
		}
	}
	if f.f != nil && f.max > 0 && f.size > 0 && f.size+int64(more) > f.max {
		_ = f.close()
		if err := os.Rename(f.name, f.name+".1"); err != nil {
			f.unmoved(err)
			err = f.open()
			f.size = 0
			return err
		}
	}
	if f.f == nil {
		return f.open()
	}
	return nil
}
