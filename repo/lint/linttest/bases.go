package linttest

import (
	"context"
	_ "embed"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"triton/repo/example"
)

//go:embed builtin.txtar
var builtin []byte

//go:embed python.txtar
var python []byte

// builtinBases are repositories of models of built-in backends.
func builtinBases() map[string]Files { return unpack(builtin) }

// pythonBases are repositories of Python models and ensembles of them.
func pythonBases() map[string]Files { return unpack(python) }

// unpack reads repositories: the first element of a path names the repository.
func unpack(archive []byte) map[string]Files {
	bases := map[string]Files{}
	for _, f := range txtar.Parse(archive).Files {
		name, path, _ := strings.Cut(f.Name, "/")
		if bases[name] == nil {
			bases[name] = Files{}
		}
		text := string(f.Data)
		if rest, ok := strings.CutSuffix(path, "/empty"); ok {
			path, text = rest+"/", ""
		}
		bases[name][path] = text
	}
	return bases
}

// exampleBases are repositories with one example model each.
func exampleBases(ctx context.Context) (map[string]Files, error) {
	dir, err := os.MkdirTemp("", "linttest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	names := []string{
		"simple", "simple_string", "onnx_accumulator", "ragged_share", "custom_identity_int32", "repeat_int32", "square_int32",
		"custom_sequence_int32", "custom_dyna_sequence_int32", "iterative_sequence", "no_state_update", "tokenizer", "postprocessor", "query",
	}
	if err := example.Write(ctx, dir, example.Options{Seed: example.DefaultSeed, Models: names}); err != nil {
		return nil, err
	}
	bases := map[string]Files{}
	for _, name := range names {
		files, err := read(dir, name)
		if err != nil {
			return nil, err
		}
		bases[name] = files
	}
	return bases, nil
}

// read returns the files of one model.
func read(dir, model string) (Files, error) {
	files := Files{}
	err := filepath.WalkDir(filepath.Join(dir, model), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			entries, err := os.ReadDir(path)
			if err == nil && len(entries) == 0 {
				files[rel+"/"] = ""
			}
			return err
		}
		text, err := os.ReadFile(path)
		files[rel] = string(text)
		return err
	})
	return files, err
}
