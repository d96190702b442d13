package server_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/repo"
	"triton/repo/example"
	"triton/repo/lint"
	"triton/server/servertest"
)

// mistakes returns the findings that are more than advice.
func mistakes(found []repo.Finding) []repo.Finding {
	return slices.DeleteFunc(found, func(f repo.Finding) bool { return f.Severity == repo.Note })
}

// The text pipeline that "triton repo example" writes maps a text to a label, with ONNX Runtime
// between two builtin backends.
func TestTextPipeline(t *testing.T) {
	t.Parallel()
	needsONNX(t)
	dir := filepath.Join(t.TempDir(), "models")
	require.NoError(t, example.Write(t.Context(), dir, example.Options{
		Seed: example.DefaultSeed, Models: []string{"text_pipeline", "tokenizer", "bert_model", "postprocessor"},
	}))
	models, err := repo.Open(dir)
	require.NoError(t, err)
	require.Empty(t, mistakes(lint.Check(models, lint.Options{})))

	s := servertest.Start(t, servertest.Repository(dir))
	c := newClient(t)
	ask := func(texts ...string) string {
		body := fmt.Sprintf(`{"inputs":[{"name":"raw_text","datatype":"BYTES","shape":[%d,1],"data":["%s"]}]}`, len(texts), strings.Join(texts, `","`))
		code, text, err := post(c, "http://"+s.HTTP+"/v2/models/text_pipeline/infer", body)
		require.NoError(t, err)
		require.Equal(t, 200, code, text)
		return text
	}
	first := ask("a really good movie", "an awful, boring book")
	require.Contains(t, first, `{"name":"predictions","datatype":"BYTES","shape":[2,1],"data":["`)
	require.Contains(t, first, `{"name":"probabilities","datatype":"FP32","shape":[2,2],"data":[`)
	var wg sync.WaitGroup
	for range 16 { // batches of others do not change an answer
		wg.Go(func() { require.Equal(t, first, ask("a really good movie", "an awful, boring book")) })
	}
	wg.Wait()

	g := dial(t, s.GRPC)
	for model, rows := range map[string]uint64{"text_pipeline": 34, "tokenizer": 34, "bert_model": 34, "postprocessor": 34} {
		all, err := g.ModelStatistics(t.Context(), &inferencepb.ModelStatisticsRequest{Name: model})
		require.NoError(t, err)
		require.Equal(t, rows, all.ModelStats[0].InferenceCount, model)
		require.EqualValues(t, 17, all.ModelStats[0].InferenceStats.Success.Count, model)
	}
}
