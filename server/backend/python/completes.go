package python

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// maxScanned is the size of the largest program that completes reads.
const maxScanned = 1 << 20

// className is the class of a model.
const className = "TritonPythonModel"

var (
	// plainClass is the class without a base or a metaclass.
	plainClass = regexp.MustCompile(`(?m)^class[ \t]+` + className + `[ \t]*(\([ \t]*(object)?[ \t]*\))?[ \t]*:`)
	// rule is the sentence about the name of the class in the examples of NVIDIA, which models are made from.
	rule = regexp.MustCompile(`must have "` + className + `" as the class name`)
	// elsewhere is what may bring names that the file does not show.
	elsewhere = regexp.MustCompile(`(?m)import[ \t\n(\\]*\*|` +
		`\b(globals|locals|vars|setattr|_getframe|__dict__|__set_name__|__build_class__|builtins)\b|` +
		`(^|[^.\w])(exec|eval)\b|\.modules\b|import[^\n]*\bmodules\b|` + // not the method exec of BLS requests
		`\bobject[ \t]*=[^=]|\bas[ \t]+object\b|import[^\n]*\bobject\b`)
	// encoding is the declaration of one in a line.
	encoding = regexp.MustCompile(`coding[:=][ \t]*([-\w.]+)`)
	// within is a decorator in a class or a function.
	within = regexp.MustCompile(`(?m)^[ \t]+@[ \t]*([\w.]*)`)
)

// completes reports whether the program of a model may have auto_complete_config. It is false only for a
// class whose text shows all its methods. To ask the program takes an interpreter of its own that imports
// numpy: half of the processor time of a load. A class that inherits, is decorated, comes from somewhere
// else or is changed later may have the method although the file does not name it.
func completes(file string) bool {
	info, err := os.Stat(file)
	if err != nil || info.Size() > maxScanned {
		return true
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return true
	}
	text, ok := readable(text)
	if !ok || bytes.Contains(text, []byte("auto_complete")) || elsewhere.Match(text) {
		return true
	}
	text = rule.ReplaceAll(text, nil)
	class := plainClass.FindIndex(text)
	return class == nil || bytes.Count(text, []byte(className)) != 1 ||
		decorated(text[:class[0]]) || changed(text[class[1]:]) || !harmless(text)
}

// readable returns a program as Python reads it: lines that end with \n, and names in their normal form
// (a full-width letter is that letter). It is false if that cannot be said.
func readable(text []byte) ([]byte, bool) {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	if bytes.ContainsAny(text, "\r\f\v\x00\ufeff\ufffd") { // invalid UTF-8 is \ufffd
		return nil, false
	}
	for _, line := range bytes.SplitN(text, []byte("\n"), 3)[:min(2, 1+bytes.Count(text, []byte("\n")))] {
		for _, m := range encoding.FindAllSubmatch(line, -1) {
			if name := strings.ToLower(string(m[1])); name != "utf-8" && name != "utf8" {
				return nil, false
			}
		}
	}
	return norm.NFKC.Bytes(text), true
}

// decorated reports whether the text before a class may end with a decorator, which may have several
// lines of any form. Functions and classes end those before them.
func decorated(before []byte) bool {
	at := bytes.LastIndex(append([]byte("\n"), before...), []byte("\n@"))
	return at >= 0 && !bytes.Contains(before[at:], []byte("\ndef "))
}

// changed reports whether anything but definitions follows a class: code that runs when the class exists
// may give it methods.
func changed(after []byte) bool {
	_, after, _ = bytes.Cut(after, []byte("\n"))
	for line := range bytes.Lines(after) {
		if len(bytes.TrimSpace(line)) == 0 || bytes.ContainsRune([]byte(" \t#"), rune(line[0])) {
			continue
		}
		if first, _, _ := bytes.Cut(line, []byte(" ")); !slices.Contains([]string{"def", "class", "async"}, string(first)) {
			return true
		}
	}
	return false
}

// harmless reports whether the decorators within classes and functions are of Python and PyTorch, which
// leave the class alone.
func harmless(text []byte) bool {
	for _, m := range within.FindAllSubmatch(text, -1) {
		name := string(m[1])
		module, _, _ := strings.Cut(name, ".")
		if !slices.Contains([]string{"staticmethod", "classmethod", "property", "torch", "functools", "contextlib"}, module) {
			return false
		}
	}
	return true
}
