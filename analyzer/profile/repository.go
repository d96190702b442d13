package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"triton/analyzer/trial"
	"triton/pkg/modelconfig"
)

// variantRepository is the output repository: a folder for each variant.
type variantRepository struct {
	Dir string
	// Source is the user's repository. If it is empty, the folders only have configurations, as
	// for servers on other machines.
	Source string
	// OwnNames: the configurations have the names of their variants, so that a server can load them
	// from this repository. Otherwise they have the models' names.
	OwnNames bool

	first map[string]string // the variant that has a model's files
}

// Create makes the folder. One that exists is an error, or is replaced with override.
func (r *variantRepository) Create(override bool) error {
	r.first = make(map[string]string)
	_, err := os.Lstat(r.Dir)
	switch {
	case err == nil && !override:
		return fmt.Errorf("Path %q already exists. Please set or modify \"--output-model-repository-path\" flag or remove this directory. "+ //nolint:staticcheck // Model Analyzer's sentence
			"You can also allow overriding of the output directory using the \"--override-output-model-repository\" flag.", r.Dir)
	case err == nil:
		if err := r.mayReplace(); err != nil {
			return err
		}
		if err := os.RemoveAll(r.Dir); err != nil {
			return fmt.Errorf("output repository: %w", err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("output repository: %w", err)
	}
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return fmt.Errorf("output repository: %w", err)
	}
	return nil
}

// mayReplace keeps an override from removing the user's models.
func (r *variantRepository) mayReplace() error {
	if r.Source == "" {
		return nil
	}
	out, err := filepath.EvalSymlinks(r.Dir)
	if err != nil {
		return fmt.Errorf("output repository: %w", err)
	}
	in, err := filepath.EvalSymlinks(r.Source)
	if err != nil {
		return fmt.Errorf("model repository: %w", err)
	}
	if out, err = filepath.Abs(out); err == nil {
		in, err = filepath.Abs(in)
	}
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(out, in); err == nil && filepath.IsLocal(rel) {
		return fmt.Errorf("output repository %s is not replaced, because the model repository is in it: use another --output-model-repository-path", r.Dir)
	}
	return nil
}

// Add writes a variant. The first variant of a model has a copy of the model's files, the others links
// to them.
func (r *variantRepository) Add(v trial.Variant) error {
	name := v.Model
	if r.OwnNames {
		name = v.Name
	}
	return r.add(v, v.Name, name)
}

// AddComposing writes a variant of a composing model, and replaces the folder with the model's own
// name, under which ensembles and other models call it.
func (r *variantRepository) AddComposing(v trial.Variant) error {
	return errors.Join(r.Add(v), r.add(v, v.Model, v.Model))
}

func (r *variantRepository) add(v trial.Variant, folder, name string) error {
	dir := filepath.Join(r.Dir, folder)
	err := os.Mkdir(dir, 0o755)
	switch {
	case errors.Is(err, fs.ErrExist):
	case err != nil:
		return fmt.Errorf("output repository: %w", err)
	default:
		if err := r.fill(dir, folder, v.Model); err != nil {
			return fmt.Errorf("output repository: files of model %q: %w", v.Model, err)
		}
	}
	text := modelconfig.Encode(renamed(v.Config, name))
	if err := os.WriteFile(filepath.Join(dir, modelconfig.FileName), text, 0o644); err != nil {
		return fmt.Errorf("output repository: %w", err)
	}
	return nil
}

// fill puts the files of a model into a new folder.
func (r *variantRepository) fill(dir, folder, model string) error {
	if r.Source == "" {
		return nil
	}
	first, copied := r.first[model]
	if !copied {
		r.first[model] = folder
		return copyModel(dir, filepath.Join(r.Source, model))
	}
	entries, err := os.ReadDir(filepath.Join(r.Dir, first))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == modelconfig.FileName {
			continue
		}
		if err := os.Symlink(filepath.Join("..", first, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// copyModel copies a folder without its configuration. Links are copied as what they point to.
func copyModel(to, from string) error {
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	return copyEntries(to, from, modelconfig.FileName)
}

// copyEntries copies what is in a folder but one name.
func copyEntries(to, from, without string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == without {
			continue
		}
		if err := copyEntry(filepath.Join(to, e.Name()), filepath.Join(from, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func copyEntry(to, from string) error {
	info, err := os.Stat(from)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return copyFile(to, from, info.Mode().Perm())
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	return copyEntries(to, from, "")
}

func copyFile(to, from string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = out.ReadFrom(in)
	return errors.Join(err, out.Close())
}
