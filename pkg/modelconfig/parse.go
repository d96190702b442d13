package modelconfig

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
)

const (
	maxFileSize = 4 << 20 // a configuration of this size is a mistake
	maxListed   = 20      // mistakes in the text of an error
)

// SyntaxErrors are the mistakes in one text, in its order.
type SyntaxErrors []*SyntaxError

// Error returns one line for each of the first mistakes, and how many more there are.
func (es SyntaxErrors) Error() string {
	lines := make([]string, 0, maxListed+1)
	for _, e := range es[:min(len(es), maxListed)] {
		lines = append(lines, e.Error())
	}
	if more := len(es) - maxListed; more > 0 {
		lines = append(lines, fmt.Sprintf("%s:%d:%d: more mistakes from here on: %d", es[maxListed].File, es[maxListed].Pos.Line, es[maxListed].Pos.Col, more))
	}
	return strings.Join(lines, "\n")
}

// Parse reads a configuration in protobuf text format. The file name is only
// for messages. The error is of type SyntaxErrors.
func Parse(file string, src []byte) (*Config, error) {
	c := &Config{ModelConfig: &inferencepb.ModelConfig{}, File: file, pos: make(map[string]Position)}
	if len(src) > maxFileSize {
		return nil, SyntaxErrors{{
			File: file, Pos: Position{1, 1},
			Msg:  fmt.Sprintf("The file has %d bytes.", len(src)),
			Hint: fmt.Sprintf("a configuration may have at most %d", maxFileSize),
		}}
	}
	p := syntax{scan: newScanner(src)}
	p.advance()
	nodes := p.fields("", Position{}, 0)
	b := binder{pos: c.pos}
	b.message(c.ProtoReflect(), "", nodes)
	errs := append(p.errs, b.errs...)
	if len(errs) == 0 && !p.stopped {
		return c, nil
	}
	if len(errs) == 0 {
		errs = append(errs, &SyntaxError{Pos: p.tok.pos, Msg: "Expected a value, got: " + p.tok.text})
	}
	slices.SortStableFunc(errs, func(a, b *SyntaxError) int {
		if a.Pos.Line != b.Pos.Line {
			return a.Pos.Line - b.Pos.Line
		}
		return a.Pos.Col - b.Pos.Col
	})
	for _, e := range errs {
		e.File = file
	}
	return nil, SyntaxErrors(errs)
}

// ReadFile reads and parses a file, which may be a link within its model repository. Its errors
// begin with Triton's text; the position and the hint follow it.
func ReadFile(path string) (*Config, error) {
	if !contained(filepath.Dir(path), path) {
		return nil, outside(path)
	}
	src, err := ReadText(path)
	if err != nil {
		return nil, err
	}
	c, err := Parse(path, src)
	if err != nil {
		return nil, &status.Error{
			Code:  status.Internal,
			Msg:   fmt.Sprintf("failed to read text proto from %s: %v", path, err),
			Cause: err,
		}
	}
	return c, nil
}

// maxText is the largest size of a text file of a model, in bytes. A configuration of a thousand
// tensors has 200 kB.
const maxText = 16 << 20

// ReadText reads a text file of a model; the error has Triton's text. It reads regular files only: to
// open a named pipe would wait for ever.
func ReadText(path string) ([]byte, error) {
	src, err := readRegular(path)
	if err != nil {
		return nil, &status.Error{
			Code:  status.Internal,
			Msg:   fmt.Sprintf("failed to open text file for read %s: %s", path, reason(err)),
			Cause: err,
		}
	}
	return src, nil
}

// Open opens a regular file or a folder: to open a named pipe would wait for ever, and devices have
// no end.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir() && !info.Mode().IsRegular():
		return nil, fmt.Errorf("it is a %s, not a regular file", kind(info.Mode()))
	}
	return os.Open(path)
}

func readRegular(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > maxText {
		return nil, errTooLong
	}
	src, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err == nil && len(src) > maxText {
		return nil, errTooLong
	}
	return src, err
}

var errTooLong = fmt.Errorf("it is longer than %d MiB", maxText>>20)

// kind names a kind of file that is neither a regular file nor a folder.
func kind(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "named pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

// reason returns the text of the operating system, capitalized as by strerror.
func reason(err error) string {
	var no syscall.Errno
	if !errors.As(err, &no) {
		return err.Error()
	}
	s := no.Error()
	return strings.ToUpper(s[:1]) + s[1:]
}
