// Package log writes slog records in Triton's log line formats, with levels, format and
// file that can be changed while the program runs. No logged value can forge a line or a
// field. The package does not decide what is logged.
package log

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
)

// Format is the form of a log line.
type Format uint8

// The formats. JSON is not one of Triton's.
const (
	Default Format = iota // I1121 15:36:01.123456 1234 file.go:12] "message key=value"
	ISO8601               // 2025-11-21T15:36:01Z I 1234 file.go:12] "message key=value"
	JSON                  // {"time":...,"level":"INFO","pid":1234,"source":"file.go:12","msg":...,"key":...}
)

var formatNames = [...]string{Default: "default", ISO8601: "ISO8601", JSON: "json"}

// String returns the format's name on the command line.
func (f Format) String() string { return formatNames[f] }

// ErrFormat reports a format name other than default, ISO8601 and json.
var ErrFormat = errors.New("invalid argument for --log-format")

// ParseFormat returns the format of that name, or ErrFormat.
func ParseFormat(name string) (Format, error) {
	for f, n := range formatNames {
		if n == name {
			return Format(f), nil
		}
	}
	return Default, ErrFormat
}

// Verbose returns the slog level of verbose messages of level n: level 1 is
// slog.LevelDebug, higher levels are more detailed.
func Verbose(n int) slog.Level { return slog.LevelDebug - slog.Level(n-1) }

// Lazy logs a verbose message of level n that text makes, if such messages are logged. The line's
// source is the caller's.
func Lazy(l *slog.Logger, n int, text func() string) {
	if l != nil && l.Enabled(context.Background(), Verbose(n)) {
		_ = l.Handler().Handle(context.Background(), newRecord(Verbose(n), text(), 3))
	}
}

// Settings can be changed while the program runs.
type Settings struct {
	Error, Warning, Info bool
	Verbose              int
	Format               Format
	File                 string // empty: the console
	// Raw writes messages without quotes and escapes, which
	// TRITON_SERVER_ESCAPE_LOG_MESSAGES=0 sets: input from outside can then
	// forge lines. JSON is not affected.
	Raw bool
}

// DefaultSettings returns the settings of a server started without log flags.
func DefaultSettings() Settings { return Settings{Error: true, Warning: true, Info: true} }

func (s Settings) enabled(l slog.Level) bool {
	switch {
	case l >= slog.LevelError:
		return s.Error
	case l >= slog.LevelWarn:
		return s.Warning
	case l >= slog.LevelInfo:
		return s.Info
	}
	return l >= Verbose(s.Verbose)
}

// Sink writes log lines to one file or to the console, where errors and warnings
// go to the second stream. It is safe for concurrent use.
type Sink struct {
	out, err io.Writer
	settings atomic.Pointer[Settings]
	mu       struct {
		sync.Mutex
		file  *os.File
		watch func(Settings)
	}
}

// Open returns a sink with these settings. It opens the file, if any, for
// appending.
func Open(s Settings, out, err io.Writer) (*Sink, error) {
	k := &Sink{out: out, err: err}
	k.settings.Store(&Settings{})
	if e := k.Set(s); e != nil {
		return nil, e
	}
	return k, nil
}

// Settings returns the current settings.
func (k *Sink) Settings() Settings { return *k.settings.Load() }

// Set replaces the settings. When the file cannot be opened nothing changes.
func (k *Sink) Set(s Settings) error {
	return k.Update(func(now *Settings) error {
		*now = s
		return nil
	})
}

// Update applies change to the settings. When change fails, or the file cannot be
// opened, nothing changes.
func (k *Sink) Update(change func(*Settings) error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := *k.settings.Load()
	if err := change(&s); err != nil {
		return err
	}
	if s.File != k.settings.Load().File {
		if err := k.open(s.File); err != nil {
			return err
		}
	}
	k.settings.Store(&s)
	if k.mu.watch != nil {
		k.mu.watch(s)
	}
	return nil
}

// Reopen opens the file again, if there is one, because a program that rotates files has renamed it.
// Each line is in the earlier file or in the new one. When the file cannot be opened nothing changes.
func (k *Sink) Reopen() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.mu.file == nil {
		return nil
	}
	return k.open(k.settings.Load().File)
}

// open replaces the file; the empty name is none. The caller holds the lock.
func (k *Sink) open(name string) error {
	var f *os.File
	if name != "" {
		var err error
		if f, err = os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
			return fmt.Errorf("log file: %w", err)
		}
	}
	old := k.mu.file
	k.mu.file = f
	if old != nil {
		_ = old.Close()
	}
	return nil
}

// Watch calls f with the settings, now and after each change, and no longer the function of an
// earlier call. f must not use the sink.
func (k *Sink) Watch(f func(Settings)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.watch = f
	f(k.Settings())
}

// Close closes the file, if any. Later lines go to the console.
func (k *Sink) Close() error {
	s := k.Settings()
	s.File = ""
	return k.Set(s)
}

// Logger returns a logger that writes to the sink.
func (k *Sink) Logger() *slog.Logger { return slog.New(newHandler(k)) }

func (k *Sink) write(l slog.Level, line []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := k.out
	switch {
	case k.mu.file != nil:
		w = k.mu.file
	case l >= slog.LevelWarn:
		w = k.err
	}
	_, err := w.Write(line)
	return err
}

// rawText is an attribute value that is written below the line unchanged.
type rawText string

// Table logs a block of text, such as a table, below an informational line. The
// line's source is the caller's.
func Table(ctx context.Context, l *slog.Logger, heading, text string) {
	if !l.Enabled(ctx, slog.LevelInfo) {
		return
	}
	r := newRecord(slog.LevelInfo, heading, 3)
	r.AddAttrs(slog.Any("table", rawText(text)))
	_ = l.Handler().Handle(ctx, r)
}
