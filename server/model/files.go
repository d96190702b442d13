package model

import (
	"os"
	"path/filepath"
	"strings"

	"triton/pkg/framework"
	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
)

// checkFiles returns an error if a model file of a version is neither a file nor a folder: a library
// that opens a named pipe waits for ever, and cannot be interrupted.
func checkFiles(dir, file string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // the backend reports it
	}
	for _, e := range entries {
		name := e.Name()
		if name != file && !strings.HasPrefix(name, "model.") {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, name))
		if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return status.New(status.Internal, "'%s' is a %s, not a file", name, kind(info.Mode()))
		}
	}
	return nil
}

// explain adds to the error of a load what the model file is, if it is in a format that no backend reads.
func explain(err error, dir string, c *inferencepb.ModelConfig) error {
	if !modelconfig.NeedsModelFile(c) {
		return err
	}
	advice := framework.Advice(dir, modelconfig.ModelFile(c))
	if advice == "" {
		return err
	}
	return status.Wrap(err, status.Internal, "%w (%s)", err, advice)
}

func kind(m os.FileMode) string {
	switch {
	case m&os.ModeNamedPipe != 0:
		return "named pipe"
	case m&os.ModeSocket != 0:
		return "socket"
	}
	return "device"
}
