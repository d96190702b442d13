package scaffold

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"triton/pkg/onnxmodel"
	"triton/pkg/replacefile"
)

// placement is one file to bring into the version directory.
type placement struct{ from, to string }

// targets returns the files that a plan writes.
func targets(plan []placement) []string {
	var list []string
	for _, p := range plan {
		if !same(p.from, p.to) {
			list = append(list, p.to)
		}
	}
	return list
}

// placements returns the model file and the weight files that it names.
func placements(file string, graph *onnxmodel.Model) ([]placement, error) {
	var plan []placement
	for _, weights := range graph.External {
		if !filepath.IsLocal(weights) {
			return nil, fmt.Errorf("the weight file %s is outside the model's directory: save the weights beside the model", weights)
		}
		from := filepath.Join(filepath.Dir(file), weights)
		if _, err := os.Stat(from); err != nil {
			return nil, fmt.Errorf("the weights of the model: %w", err)
		}
		plan = append(plan, placement{from, weights})
	}
	return append(plan, placement{file, "model.onnx"}), nil
}

// install places the files of a model and then writes its configuration. It returns res with
// the names of all of them.
func install(res Result, plan []placement, config string, text []byte, link bool) (Result, error) {
	for _, p := range plan {
		if err := placeTree(p, link); err != nil {
			return Result{}, err
		}
		res.Files = append(res.Files, p.to)
	}
	if err := replaceText(config, text); err != nil {
		return Result{}, err
	}
	res.Files = append(res.Files, config)
	return res, nil
}

// place copies or links a file. A file that is already in place is not touched.
func place(p placement, link bool) error {
	if same(p.from, p.to) {
		return nil
	}
	if !link {
		return replace(p.to, func(f *os.File) error {
			in, err := os.Open(p.from)
			if err != nil {
				return err
			}
			defer in.Close()
			_, err = io.Copy(f, in)
			return err
		})
	}
	from, err := filepath.Abs(p.from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.to), 0o755); err != nil {
		return err
	}
	temp := p.to + ".new"
	_ = os.Remove(temp) // left over from a run that was killed; Symlink reports the rest
	if err := os.Symlink(from, temp); err != nil {
		return err
	}
	return os.Rename(temp, p.to)
}

func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// replace replaces a file, in a folder that may not exist yet.
func replace(path string, write func(*os.File) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return replacefile.Write(path, 0o644, write)
}

func replaceText(path string, text []byte) error {
	return replace(path, func(f *os.File) error { _, err := f.Write(text); return err })
}
