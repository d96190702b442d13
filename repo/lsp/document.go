package lsp

import (
	"bytes"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"
)

// document is an open configuration.
type document struct {
	uri     string
	path    string
	version int
	text    []byte
	starts  []int // offsets of the lines
	utf8    bool
	saved   bool // the text is what was opened or saved last
}

func (d *document) set(version int, text string) {
	d.version, d.text = version, []byte(text)
	d.starts = []int{0}
	for i, c := range d.text {
		if c == '\n' {
			d.starts = append(d.starts, i+1)
		}
	}
}

// line returns a line without its end.
func (d *document) line(n int) []byte {
	end := len(d.text)
	if n+1 < len(d.starts) {
		end = d.starts[n+1] - 1
	}
	return bytes.TrimSuffix(d.text[d.starts[n]:end], []byte("\r"))
}

// offset returns the byte that a position is at. A position outside the text is at its nearest end.
func (d *document) offset(p position) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= len(d.starts) {
		return len(d.text)
	}
	line := d.line(p.Line)
	if d.utf8 {
		return d.starts[p.Line] + min(max(p.Character, 0), len(line))
	}
	at := 0
	for units := 0; at < len(line) && units < p.Character; {
		r, n := utf8.DecodeRune(line[at:])
		units += utf16Len(r)
		at += n
	}
	return d.starts[p.Line] + at
}

// position returns the position of a byte.
func (d *document) position(offset int) position {
	offset = min(max(offset, 0), len(d.text))
	n, found := slices.BinarySearch(d.starts, offset)
	if !found {
		n--
	}
	before := d.text[d.starts[n]:offset]
	if d.utf8 {
		return position{n, len(before)}
	}
	units := 0
	for len(before) > 0 {
		r, size := utf8.DecodeRune(before)
		units += utf16Len(r)
		before = before[size:]
	}
	return position{n, units}
}

func utf16Len(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}

func (d *document) span(start, end int) span { return span{d.position(start), d.position(end)} }

// edits returns the change from the document to another text: the lines that differ.
func (d *document) edits(to []byte) []textEdit {
	if bytes.Equal(d.text, to) {
		return []textEdit{}
	}
	start := 0
	for i := 0; i < len(d.text) && i < len(to) && d.text[i] == to[i]; i++ {
		if d.text[i] == '\n' {
			start = i + 1
		}
	}
	tail := 0
	for i := 1; i <= len(d.text)-start && i <= len(to)-start; i++ {
		a, b := d.text[len(d.text)-i], to[len(to)-i]
		if a != b {
			break
		}
		if a == '\n' {
			tail = i - 1
		}
	}
	return []textEdit{{d.span(start, len(d.text)-tail), string(to[start : len(to)-tail])}}
}

// pathOf returns the path of a file's URI.
func pathOf(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return "", fmt.Errorf("%q is not the URI of a file", uri)
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	return filepath.FromSlash(path), nil
}

// uriOf returns the URI of a file.
func uriOf(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

func (s *server) didOpen(p didOpenParams) (any, error) {
	path, err := pathOf(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	d := &document{uri: p.TextDocument.URI, path: path, utf8: s.utf8, saved: true}
	d.set(p.TextDocument.Version, p.TextDocument.Text)
	s.mu.Lock()
	s.documents[d.uri] = d
	s.mu.Unlock()
	s.touch()
	return nil, nil
}

func (s *server) didChange(p didChangeParams) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.documents[p.TextDocument.URI]
	if d == nil || len(p.ContentChanges) == 0 {
		return nil, nil
	}
	// The client sends the whole text, as the server asked for; the last one counts.
	d.set(p.TextDocument.Version, p.ContentChanges[len(p.ContentChanges)-1].Text)
	d.saved = false
	s.touch()
	return nil, nil
}

func (s *server) didSave(p documentParams) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.documents[p.TextDocument.URI]; d != nil {
		d.saved = true
	}
	s.touch()
	return nil, nil
}

func (s *server) didClose(p documentParams) (any, error) {
	s.mu.Lock()
	delete(s.documents, p.TextDocument.URI)
	s.mu.Unlock()
	s.publish(publishDiagnosticsParams{URI: p.TextDocument.URI, Diagnostics: []diagnostic{}})
	s.touch()
	return nil, nil
}

// touch has the documents checked.
func (s *server) touch() {
	select {
	case s.dirty <- struct{}{}:
	default: // a check is due already, and will see the newest texts
	}
}

// document returns an open document. Only the goroutine that handles messages changes its text.
func (s *server) document(uri string) (*document, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.documents[uri]
	if d == nil {
		return nil, fmt.Errorf("%s is not open", uri)
	}
	return d, nil
}
