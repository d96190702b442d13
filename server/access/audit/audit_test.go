package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, o Options) *Log {
	t.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	l, err := Open(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func record(t *testing.T, l *Log, r Record) {
	t.Helper()
	s, ok := l.Reserve()
	require.True(t, ok)
	s.Commit(&r)
}

func lines(t *testing.T, file string) (all []map[string]any) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var m map[string]any
		require.NoError(t, json.Unmarshal(s.Bytes(), &m), s.Text())
		all = append(all, m)
	}
	return all
}

// TestForgery: no text of a caller makes a line of its own or another field.
func TestForgery(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit")
	l := open(t, Options{File: file})
	texts := []string{
		"a\n{\"principal\":\"key:root\"}", "a\r\nb", `","result":"allowed`, "\x00\x1b[2J", "\u2028\u2029", "\xff\xfe", strings.Repeat("x", 1<<20), `\`, "é世",
	}
	for _, text := range texts {
		record(t, l, Record{Time: time.Unix(0, 0), Principal: text, Source: text, Method: text, Model: text, Version: text, ID: text, Result: "denied"})
	}
	require.NoError(t, l.Close())
	got := lines(t, file)
	require.Len(t, got, len(texts))
	for i, m := range got {
		require.Equal(t, "denied", m["result"])
		require.Equal(t, m["principal"], m["model"])
		require.LessOrEqual(t, len(m["id"].(string)), 3*maxField, i)
	}
	require.Equal(t, texts[0], got[0]["principal"])
}

// blocked is a disk that does not answer.
type blocked struct {
	until chan struct{}
	mu    sync.Mutex
	buf   bytes.Buffer
}

func (b *blocked) Write(p []byte) (int, error) {
	<-b.until
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// TestNeverBlocks: with a disk that hangs, calls go on without a record, or are refused.
func TestNeverBlocks(t *testing.T) {
	t.Parallel()
	for _, required := range []bool{false, true} {
		disk := &blocked{until: make(chan struct{})}
		l := open(t, Options{File: "stderr", Stderr: disk, Queue: 4, Required: required})
		admitted := 0
		for range 10 {
			s, ok := l.Reserve()
			if ok {
				admitted++
			}
			s.Commit(&Record{Result: "allowed"})
		}
		if required {
			require.Equal(t, 4, admitted)
			require.Zero(t, l.Dropped())
		} else {
			require.Equal(t, 10, admitted)
			require.EqualValues(t, 6, l.Dropped())
		}
		close(disk.until)
		require.NoError(t, l.Close())
		require.Equal(t, 4, strings.Count(disk.buf.String(), "\n"))
	}
}

// TestRequired refuses calls while the file cannot be written and loses none of those admitted.
func TestRequired(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sub")
	require.NoError(t, os.Mkdir(dir, 0o700))
	file := filepath.Join(dir, "audit")
	l := open(t, Options{File: file, Required: true})
	record(t, l, Record{ID: "1"})
	require.Eventually(t, func() bool { return len(lines(t, file)) == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, os.RemoveAll(dir)) // the file cannot be opened again
	record(t, l, Record{ID: "2"})
	require.Eventually(t, func() bool { _, ok := l.Reserve(); return !ok }, time.Minute, time.Millisecond)
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.Eventually(t, func() bool { return l.ok() }, time.Minute, time.Millisecond)
	record(t, l, Record{ID: "3"})
	require.NoError(t, l.Close())
	got := lines(t, file)
	require.Len(t, got, 2)
	require.Equal(t, "2", got[0]["id"])
	require.Equal(t, "3", got[1]["id"])
	require.Zero(t, l.Dropped())
}

func (l *Log) ok() bool { return !l.failing.Load() }

// TestRotation renames a file that is too large, and opens one anew that another program has
// renamed.
func TestRotation(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit")
	l := open(t, Options{File: file, MaxBytes: 500})
	for i := range 20 {
		record(t, l, Record{ID: strings.Repeat("i", i+1)})
		require.Eventually(t, func() bool { return l.reserved.Load() == 0 }, time.Minute, time.Millisecond)
	}
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.LessOrEqual(t, info.Size(), int64(500))
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NotEmpty(t, lines(t, file+".1"))

	require.NoError(t, os.Rename(file, file+".moved"))
	record(t, l, Record{ID: "new"})
	require.NoError(t, l.Close())
	got := lines(t, file)
	require.Len(t, got, 1)
	require.Equal(t, "new", got[0]["id"])
}

// TestCannotRotate: a file that cannot be renamed grows, and no record is lost.
func TestCannotRotate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit")
	require.NoError(t, os.MkdirAll(filepath.Join(file+".1", "full"), 0o700))
	l := open(t, Options{File: file, MaxBytes: 500})
	for i := range 40 {
		record(t, l, Record{ID: strings.Repeat("i", i+1)})
		require.Eventually(t, func() bool { return l.reserved.Load() == 0 }, time.Minute, time.Millisecond)
	}
	require.NoError(t, l.Close())
	require.Zero(t, l.Dropped())
	require.Len(t, lines(t, file), 40)
}

// TestLate: a call that ends after the log is closed does no harm.
func TestLate(t *testing.T) {
	t.Parallel()
	l := open(t, Options{File: filepath.Join(t.TempDir(), "audit")})
	s, ok := l.Reserve()
	require.True(t, ok)
	require.NoError(t, l.Close())
	s.Commit(&Record{})
	s.Commit(&Record{})
}

func TestUnwritable(t *testing.T) {
	t.Parallel()
	_, err := Open(Options{File: filepath.Join(t.TempDir(), "none", "audit")})
	require.Error(t, err)
}

// TestReopen renames the file and asks for a new one, as logrotate does, without a call in between.
func TestReopen(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit")
	reopen := make(chan struct{})
	l := open(t, Options{File: file, Reopen: reopen, Required: true})
	record(t, l, Record{ID: "1"})
	require.Eventually(t, func() bool { return l.reserved.Load() == 0 }, time.Minute, time.Millisecond)
	require.NoError(t, os.Rename(file, file+".1"))
	reopen <- struct{}{}
	reopen <- struct{}{} // taken when the first one is done
	require.Empty(t, lines(t, file))
	record(t, l, Record{ID: "2"})
	require.Eventually(t, func() bool { return l.reserved.Load() == 0 }, time.Minute, time.Millisecond)
	reopen <- struct{}{} // the file was not renamed: nothing is cut off
	record(t, l, Record{ID: "3"})
	require.NoError(t, l.Close())
	require.Len(t, lines(t, file+".1"), 1)
	got := lines(t, file)
	require.Len(t, got, 2)
	require.Equal(t, "2", got[0]["id"])
	require.Equal(t, "3", got[1]["id"])
}

// TestReopenUnderLoad: while callers write, each record is in one of the files, whole and once.
func TestReopenUnderLoad(t *testing.T) {
	t.Parallel()
	const callers, each, rotations = 4, 200, 20
	file := filepath.Join(t.TempDir(), "audit")
	reopen := make(chan struct{})
	l := open(t, Options{File: file, Reopen: reopen, Required: true})
	var calls sync.WaitGroup
	for c := range callers {
		calls.Go(func() {
			for i := range each {
				s, ok := l.Reserve()
				if !ok {
					t.Error("refused")
				}
				s.Commit(&Record{ID: strconv.Itoa(c*each + i)})
			}
		})
	}
	for i := range rotations {
		require.NoError(t, os.Rename(file, file+"."+strconv.Itoa(i)))
		reopen <- struct{}{}
		reopen <- struct{}{} // taken when the first one is done: the file is there
	}
	calls.Wait()
	require.NoError(t, l.Close())
	require.Zero(t, l.Dropped())
	seen := map[any]int{}
	for i := range rotations + 1 {
		name := file
		if i < rotations {
			name += "." + strconv.Itoa(i)
		}
		for _, m := range lines(t, name) {
			seen[m["id"]]++
		}
	}
	require.Len(t, seen, callers*each)
	for id, n := range seen {
		require.Equal(t, 1, n, id)
	}
}

// TestCannotReopen: while the file cannot be opened, nothing that must be recorded is lost.
func TestCannotReopen(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit")
	reopen := make(chan struct{})
	l := open(t, Options{File: file, Reopen: reopen, Required: true})
	record(t, l, Record{ID: "1"})
	require.Eventually(t, func() bool { return l.reserved.Load() == 0 }, time.Minute, time.Millisecond)
	require.NoError(t, os.Rename(file, file+".1"))
	require.NoError(t, os.Mkdir(file, 0o700))
	reopen <- struct{}{}
	reopen <- struct{}{}
	record(t, l, Record{ID: "2"})
	require.Eventually(t, func() bool { return !l.ok() }, time.Minute, time.Millisecond)
	require.NoError(t, os.Remove(file))
	require.Eventually(t, l.ok, time.Minute, time.Millisecond)
	require.NoError(t, l.Close())
	require.Zero(t, l.Dropped())
	require.Len(t, lines(t, file+".1"), 1)
	require.Len(t, lines(t, file), 1)
}

// TestReopenConsole: standard error has no file.
func TestReopenConsole(t *testing.T) {
	t.Parallel()
	console := &blocked{until: make(chan struct{})}
	close(console.until)
	reopen := make(chan struct{})
	l := open(t, Options{File: "stderr", Stderr: console, Reopen: reopen})
	reopen <- struct{}{}
	record(t, l, Record{ID: "1"})
	require.NoError(t, l.Close())
	require.Contains(t, console.buf.String(), `"id":"1"`)
}

// fullDisk takes so many bytes, then none until it is emptied.
type fullDisk struct {
	bytes.Buffer
	room int
}

func (d *fullDisk) Write(b []byte) (int, error) {
	n := min(len(b), d.room)
	d.room -= n
	_, _ = d.Buffer.Write(b[:n])
	if n < len(b) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// TestTornLine: wherever a disk is full, each record is a whole line afterwards; what was there of it
// before is a line of its own.
func TestTornLine(t *testing.T) {
	t.Parallel()
	const text = "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n"
	for room := range len(text) {
		d := &fullDisk{room: room}
		f := &file{to: d}
		n, err := f.write([]byte(text))
		require.ErrorIs(t, err, syscall.ENOSPC)
		d.room = 1000
		_, err = f.write([]byte(text[n:]))
		require.NoError(t, err)
		var whole []string
		for line := range strings.Lines(d.String()) {
			if json.Valid([]byte(line)) {
				whole = append(whole, strings.TrimSpace(line))
			}
		}
		require.Equal(t, []string{`{"a":1}`, `{"b":2}`, `{"c":3}`}, whole, "room for %d bytes: %q", room, d.String())
	}
}

// TestCut: of a file that no other program writes to, the torn end is removed.
func TestCut(t *testing.T) {
	t.Parallel()
	f := &file{name: filepath.Join(t.TempDir(), "log")}
	require.NoError(t, f.open())
	defer f.close()
	_, err := f.write([]byte("one\n"))
	require.NoError(t, err)
	content := func() string {
		text, err := os.ReadFile(f.name)
		require.NoError(t, err)
		return string(text)
	}
	_, err = f.f.WriteString("two\nthr") // a write that failed there
	require.NoError(t, err)
	require.True(t, f.cut(7, 4))
	require.Equal(t, "one\ntwo\n", content())
	f.size += 4
	_, err = f.f.WriteString("throther\n") // and another program's line
	require.NoError(t, err)
	require.False(t, f.cut(3, 0))
	require.Equal(t, "one\ntwo\nthrother\n", content())
}

// TestTwoWriters: lines of two logs in one file are whole, also while both rename it.
func TestTwoWriters(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "log")
	var all sync.WaitGroup
	for _, who := range []string{"one", "two"} {
		l := open(t, Options{File: file, MaxBytes: 4 << 10})
		all.Go(func() {
			for range 200 {
				record(t, l, Record{Time: time.Now(), Principal: who, Result: "allowed"})
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	lines(t, file) // checks that each is JSON
	if _, err := os.Stat(file + ".1"); err == nil {
		lines(t, file+".1")
	}
}
