package framework

import (
	"fmt"
	"os"
)

// openFile opens a file or a folder: to open a named pipe would wait for ever.
func openFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: it is not a regular file", path)
	}
	return os.Open(path)
}
