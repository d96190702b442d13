package python

import (
	"bytes"
	"os"
	"regexp"
	"slices"
)

// maxScanned is the size of the largest program that completes reads.
const maxScanned = 1 << 20

var (
	// plainClass is the class without a base or a metaclass.
	plainClass = regexp.MustCompile(`(?m)^class[ \t]+TritonPythonModel[ \t]*(\([ \t]*(object)?[ \t]*\))?[ \t]*:`)
	// elsewhere is what may put another class, or a method of it, in its place.
	elsewhere = regexp.MustCompile(`(?m)import[^\n]*\*|\b(import|as)\b[^\n]*TritonPythonModel|^[ \t]*TritonPythonModel|TritonPythonModel["']?[ \t]*[=,.)\]]`)
)

// completes reports whether the program of a model may have auto_complete_config. It is false only for a
// class that surely has no such method. To ask the program takes an interpreter of its own that imports
// numpy: half of the processor time of a load. A class that inherits, is decorated or comes from
// somewhere else may have the method although the file does not name it.
func completes(file string) bool {
	info, err := os.Stat(file)
	if err != nil || info.Size() > maxScanned {
		return true
	}
	text, err := os.ReadFile(file)
	if err != nil || bytes.Contains(text, []byte("auto_complete")) || elsewhere.Match(text) {
		return true
	}
	found := plainClass.FindAllIndex(text, 2)
	return len(found) != 1 || decorated(text[:found[0][0]])
}

// decorated reports whether a decorator is the last statement before a class. It may have several lines.
func decorated(before []byte) bool {
	for _, line := range slices.Backward(bytes.Split(before, []byte("\n"))) {
		if len(bytes.TrimSpace(line)) > 0 && !bytes.ContainsRune([]byte(" \t#)]}"), rune(line[0])) {
			return line[0] == '@'
		}
	}
	return false
}
