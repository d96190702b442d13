package lint_test

import (
	"os"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"triton/pkg/client"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/repo"
	"triton/repo/fix"
	"triton/repo/lint"
	"triton/repo/lint/linttest"
	"triton/server/backend"
	"triton/server/local"
)

// TestCorrectedModelsAnswer applies the corrections of mutated repositories. A model without
// an error after that loads, and answers a request: no correction leads to a model that fails.
func TestCorrectedModelsAnswer(t *testing.T) {
	t.Parallel()
	backends := servable(t)
	archive, err := txtar.ParseFile("testdata/corrected/models.txtar")
	require.NoError(t, err)
	dir := t.TempDir()
	unpack(t, archive, dir)
	require.Equal(t, 5, corrected(t, backends, dir, "testdata/corrected/models.txtar"))
	require.Equal(t, map[string]string{"scalar": "", "wrong": ""}, verdict(t, dir, serverOptions))

	g, err := linttest.New(t.Context(), false, false)
	require.NoError(t, err)
	for seed := range uint64(*casesFlag / 3) {
		c, dir := g.Case(*seedFlag+seed), t.TempDir()
		require.NoError(t, c.Files.Write(dir))
		corrected(t, backends, dir, c.String())
	}
}

// corrected corrects, lints, serves and asks one repository, and returns the number of corrections.
func corrected(t *testing.T, backends backend.Set, dir, label string) (corrections int) {
	t.Helper()
	models, err := repo.Open(dir)
	if err != nil {
		return 0
	}
	texts, err := fix.All(models, func(models []repo.Model) ([]repo.Finding, error) { return lint.Check(models, serverOptions), nil })
	require.NoError(t, err)
	for _, text := range texts {
		require.NoError(t, os.WriteFile(text.File, text.After, 0o600))
		corrections += len(text.Fixes)
	}
	if corrections == 0 {
		return 0
	}
	linted := verdict(t, dir, serverOptions)
	o := local.Options()
	o.Repositories, o.Backends, o.ExitOnError = []string{dir}, backends, false
	s, err := local.Start(t.Context(), o)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for name, mistake := range linted {
		if mistake != "" {
			continue
		}
		ready, err := s.ModelReady(t.Context(), name, "")
		require.NoError(t, err)
		require.True(t, ready, "%s\n  model %s has no error and does not load", label, name)
		ask(t, s, name, label)
	}
	return corrections
}

// ask sends zeros to a model. It may find fault with them, but must not fail.
func ask(t *testing.T, s *local.Server, model, label string) {
	t.Helper()
	meta, err := s.ModelMetadata(t.Context(), model, "")
	require.NoError(t, err)
	req := &client.Request{Model: model, Parameters: map[string]any{"sequence_id": int64(1), "sequence_start": true, "sequence_end": true}}
	for _, in := range meta.Inputs {
		d, ok := tensor.ParseDataType(in.Datatype)
		require.True(t, ok)
		count := 1
		shape := slices.Clone(in.Shape)
		for i := range shape {
			shape[i] = max(shape[i], 1)
			count *= int(shape[i])
		}
		size := d.Size()
		if d == tensor.Bytes {
			size = 4 // an empty string
		}
		req.Inputs = append(req.Inputs, client.Tensor{Name: in.Name, Datatype: in.Datatype, Shape: shape, Data: make([]byte, count*size)})
	}
	if _, err = s.Infer(t.Context(), req); err != nil {
		require.NotEqual(t, status.Internal, status.CodeOf(err), "%s\n  model %s: %v", label, model, err)
	}
}
