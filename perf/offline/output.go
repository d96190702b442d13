package offline

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// output is the file of a run. Until the last row is answered its lines are in a file with the
// suffix ".part", and the description of the run is in one with the suffix ".job".
type output struct {
	path   string
	file   *os.File
	buffer *bufio.Writer
	lines  int64 // of earlier runs
	failed int64 // of them
}

// job describes the rows of a run. A run goes on only with the same rows.
type job struct {
	Model   string     `json:"model"`
	Version string     `json:"version,omitempty"`
	Inputs  []jobInput `json:"inputs"`
}

type jobInput struct {
	Input    string    `json:"input,omitempty"`
	Path     string    `json:"path"`
	Size     int64     `json:"size,omitempty"`
	Modified time.Time `json:"modified"`
}

func (r *Run) job() ([]byte, error) {
	j := job{Model: r.options.Model, Version: r.options.Version}
	for _, f := range r.options.Inputs {
		in := jobInput{Input: f.Input, Path: f.Path}
		if f.Path != "-" {
			info, err := os.Stat(f.Path)
			if err != nil {
				return nil, fmt.Errorf("cannot read the input: %w", err)
			}
			if in.Path, err = filepath.Abs(f.Path); err != nil {
				return nil, fmt.Errorf("cannot read the input: %w", err)
			}
			in.Size, in.Modified = info.Size(), info.ModTime().UTC()
		}
		j.Inputs = append(j.Inputs, in)
	}
	text, err := json.MarshalIndent(j, "", "  ")
	return append(text, '\n'), err
}

// openOutput opens the partial output of an earlier run with the same job, or a new one.
func openOutput(path string, job []byte, restart bool) (_ *output, err error) {
	o := &output{path: path}
	if info, err := os.Stat(path); err == nil && !restart {
		if info.IsDir() {
			return nil, fmt.Errorf("cannot write %s: it is a folder", path)
		}
		return nil, fmt.Errorf("%s exists: remove it, choose another file, or replace it with --restart", path)
	}
	file, err := os.OpenFile(o.part(), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("cannot write the output: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	o.file = file
	if err := o.claim(); err != nil {
		return nil, err
	}
	o.buffer = bufio.NewWriterSize(o.file, 1<<20)
	before, err := os.ReadFile(o.jobFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the earlier run: %w", err)
	}
	switch {
	case err == nil && !restart && bytes.Equal(before, job):
		if err := o.resume(); err != nil {
			return nil, err
		}
		return o, nil
	case err == nil && !restart:
		return nil, fmt.Errorf("%s belongs to a run with another model or other rows, see %s: begin again with --restart, or choose another output", o.part(), o.jobFile())
	}
	// Without a job file the part has no line that counts: the job is written first.
	if err := o.file.Truncate(0); err != nil {
		return nil, fmt.Errorf("cannot write the output: %w", err)
	}
	if err := os.WriteFile(o.jobFile()+".new", job, 0o666); err != nil {
		return nil, fmt.Errorf("cannot write the output: %w", err)
	}
	if err := os.Rename(o.jobFile()+".new", o.jobFile()); err != nil {
		return nil, fmt.Errorf("cannot write the output: %w", err)
	}
	return o, nil
}

// claim locks the partial output. If another run has finished it meanwhile, the open file is that
// run's output, which must not be truncated.
func (o *output) claim() error {
	if err := lock(o.file); err != nil {
		return fmt.Errorf("%s is locked: another run writes it (%w)", o.part(), err)
	}
	opened, err := o.file.Stat()
	if err != nil {
		return fmt.Errorf("cannot write the output: %w", err)
	}
	if named, err := os.Stat(o.part()); err != nil || !os.SameFile(opened, named) {
		return fmt.Errorf("%s: another run has just finished it", o.path)
	}
	return nil
}

func (o *output) part() string { return o.path + ".part" }

func (o *output) jobFile() string { return o.path + ".job" }

// resume counts the lines that are whole and drops what follows them.
func (o *output) resume() error {
	in := bufio.NewReaderSize(o.file, 1<<20)
	var end, size int64
	begin, failed := true, false
	for {
		chunk, err := in.ReadSlice('\n')
		size += int64(len(chunk))
		if begin {
			failed = bytes.HasPrefix(chunk, []byte(`{"error":"`))
		}
		begin = err == nil
		switch {
		case err == nil:
			o.lines++
			end = size
			if failed {
				o.failed++
			}
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			if err := o.file.Truncate(end); err != nil {
				return fmt.Errorf("drop the torn last line of %s: %w", o.part(), err)
			}
			_, err := o.file.Seek(end, io.SeekStart)
			return err
		default:
			return fmt.Errorf("read the earlier run: %w", err)
		}
	}
}

func (o *output) write(line []byte) error {
	_, err := o.buffer.Write(line)
	return err
}

func (o *output) flush() error { return o.buffer.Flush() }

func (o *output) sync() error { return errors.Join(o.buffer.Flush(), o.file.Sync()) }

// finish gives the output its name, as a whole.
func (o *output) finish() error {
	if err := o.sync(); err != nil {
		return err
	}
	if err := os.Rename(o.part(), o.path); err != nil {
		return err
	}
	return os.Remove(o.jobFile())
}

func (o *output) close() error { return errors.Join(o.buffer.Flush(), o.file.Close()) }
