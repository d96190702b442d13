//go:build cgo && (linux || darwin)

package onnx

// Linked reports whether this program can load ONNX Runtime.
const Linked = true

// Version loads a library of ONNX Runtime and returns its version.
func Version(path string) (string, error) {
	process.Lock()
	defer process.Unlock()
	lib, err := openLibrary(path)
	if err != nil {
		return "", err
	}
	return lib.version, nil
}
