package audit

import (
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
	torn bool  // the last line is incomplete
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

// write appends whole lines and returns how many bytes of them it wrote. A line that a failure
// has torn is ended first, so that it damages no other.
func (f *file) write(lines []byte) (n int, err error) {
	if f.to != nil {
		return f.to.Write(lines)
	}
	if err := f.renew(len(lines)); err != nil {
		return 0, err
	}
	if f.torn {
		if _, err := f.f.WriteString("\n"); err != nil {
			return 0, err
		}
		f.torn = false
	}
	n, err = f.f.Write(lines)
	f.size += int64(n)
	f.torn = n > 0 && lines[n-1] != '\n'
	return n, err
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
