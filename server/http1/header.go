package http1

import "bytes"

// headerLines are the header lines of a checked head. Only requested values become strings.
type headerLines []byte

// lookup returns the first value of a header, by its name in lower case.
func (h headerLines) lookup(name string) (value string, ok bool) {
	for rest := []byte(h); len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, crlf)
		if n, v, ok := cutHeader(line); ok && equalFold(n, name) {
			return string(v), true
		}
	}
	return "", false
}

// each visits the headers with the blanks that surround their values.
func (h headerLines) each(visit func(name, value string) error) error {
	for rest := []byte(h); len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, crlf)
		n, _, ok := cutHeader(line)
		if !ok {
			continue
		}
		if err := visit(string(n), written(line)); err != nil {
			return err
		}
	}
	return nil
}

// written returns the value of a header line as Triton's HTTP library hands it on: with all blanks
// but the spaces before it, and one space for no value.
func written(line []byte) string {
	_, value, _ := bytes.Cut(line, []byte(":"))
	if value = bytes.TrimLeft(value, " "); len(value) == 0 {
		return " "
	}
	return string(value)
}

// cutHeader splits "Name: value". Names must be tokens right before the colon, values free of
// control characters.
func cutHeader(line []byte) (name, value []byte, ok bool) {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 {
		return nil, nil, false
	}
	name, value = line[:colon], line[colon+1:]
	for _, c := range name {
		if !token[c] {
			return nil, nil, false
		}
	}
	for len(value) > 0 && (value[0] == ' ' || value[0] == '\t') {
		value = value[1:]
	}
	for n := len(value); n > 0 && (value[n-1] == ' ' || value[n-1] == '\t'); n-- {
		value = value[:n-1]
	}
	for _, c := range value {
		if c < ' ' && c != '\t' || c == 0x7F {
			return nil, nil, false
		}
	}
	return name, value, true
}

// token marks the bytes that header names may contain.
var token = func() (t [256]bool) {
	for c := '0'; c <= 'z'; c++ {
		t[c] = c <= '9' || c >= 'a' || c >= 'A' && c <= 'Z'
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		t[c] = true
	}
	return t
}()

// equalFold reports whether b equals lower without regard to case. lower must be in lower case.
func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i := range len(lower) {
		c := b[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// parseLength reads a Content-Length: digits alone, at most 18.
func parseLength(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	n := int64(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}
