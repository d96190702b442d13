package report

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"triton/pkg/replacefile"
)

// file writes a file below the export folder. It replaces a former one only when it is complete. The
// kind of the content is logged; none if it is empty.
func (w writer) file(name, kind string, write func(io.Writer) error) error {
	path := filepath.Join(w.Path, name)
	if kind != "" {
		w.Log(fmt.Sprintf("Exporting %s to %s", kind, path), false)
	}
	if err := replaceFile(path, write); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func replaceFile(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return replacefile.Write(path, 0o644, func(f *os.File) error {
		b := bufio.NewWriter(f)
		if err := write(b); err != nil {
			return err
		}
		return b.Flush()
	})
}

// longestName is the length of a folder's name, in bytes, below the 255 of file systems.
const longestName = 200

// folder turns the name of a model or of a plot into the name of one folder or file.
func folder(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '_'
		}
		return r
	}, name)
	if strings.Trim(name, ".") == "" {
		name = strings.Repeat("_", max(1, len(name)))
	}
	if len(name) > longestName {
		sum := sha256.Sum256([]byte(name))
		name = strings.ToValidUTF8(name[:longestName], "") + "-" + hex.EncodeToString(sum[:4])
	}
	return name
}
