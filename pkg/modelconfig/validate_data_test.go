package modelconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/modelconfig"
	"triton/pkg/status"
)

func parse(t *testing.T, text string) *modelconfig.Config {
	t.Helper()
	c, err := modelconfig.Parse("config.pbtxt", []byte(`name: "m" `+text))
	require.NoError(t, err)
	return c
}

// model returns a model's directory with the files.
func model(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func TestLabels(t *testing.T) {
	t.Parallel()
	dir := model(t, map[string]string{"labels.txt": "a\n"})
	c := parse(t, `output { name: "A" label_filename: "labels.txt" } output { name: "B" label_filename: "../x" } output { name: "C" label_filename: "no" } output { name: "D" } output { name: "A" label_filename: "labels.txt" }`)
	found := modelconfig.ValidateLabels(c, dir)
	require.Len(t, found, 3)
	require.Equal(t, "output[1].label_filename", found[0].Path)
	require.Equal(t, status.Unsupported, found[0].Code)
	require.Contains(t, found[0].Msg, "' for output 'B' in model 'm' is outside model directory")
	require.Equal(t, status.Internal, found[1].Code)
	require.Contains(t, found[1].Msg, "failed to open text file for read "+dir+"/no: No such file or directory")
	require.Equal(t, "multiple label files for 'A'", found[2].Msg)
}

func TestWarmup(t *testing.T) {
	t.Parallel()
	dir := model(t, map[string]string{"warmup/four": "0123", "warmup/text": "\x01\x00\x00\x00a", "beside": "01234567"})
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "warmup", "away")))
	const inputs = `input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] } input { name: "T" data_type: TYPE_STRING dims: [ 1 ] optional: true } max_batch_size: 4 `
	for sample, want := range map[string]string{
		`inputs { key: "X" value { data_type: TYPE_FP32 dims: [ 1 ] input_data_file: "four" } }`: "",
		`inputs { key: "X" value { data_type: TYPE_FP32 dims: [ 2 ] zero_data: true } }
		 inputs { key: "control" value { data_type: TYPE_BOOL dims: [ 1 ] zero_data: true } }`: "",
		`inputs { key: "X" value { data_type: TYPE_FP32 dims: [ -1 ] zero_data: true } }`:                                                                                         "warmup setting expects all variable-size dimensions are specified for input 'X'",
		`inputs { key: "X" value { data_type: TYPE_FP32 dims: [ 1 ] } }`:                                                                                                          "[request id: <id_unknown>] warmup setting expects input 'X' to have input_data_type set",
		`inputs { key: "X" value { data_type: TYPE_FP32 dims: [ 2 ] input_data_file: "four" } }`:                                                                                  "[request id: <id_unknown>] warmup setting expects 8 bytes, but the data provided from fouronly has 4 bytes",
		`inputs { key: "X" value { data_type: TYPE_FP32 dims: [ 2 ] input_data_file: "none" } }`:                                                                                  "failed to open text file for read DIR/warmup/none: No such file or directory",
		`inputs { key: "X" value { data_type: TYPE_FP32 dims: [ 2 ] input_data_file: "../../x" } }`:                                                                               "failed to open text file for read DIR/warmup/../../x: path escapes from parent",
		`inputs { key: "X" value { data_type: TYPE_FP32 dims: [ 2 ] input_data_file: "no/../../beside" } }`:                                                                       "failed to open text file for read DIR/warmup/no/../../beside: No such file or directory",
		`inputs { key: "X" value { data_type: TYPE_FP32 dims: [ 2 ] input_data_file: "away" } }`:                                                                                  "failed to open text file for read DIR/warmup/away: path escapes from parent",
		`inputs { key: "X" value { data_type: TYPE_INT32 dims: [ 1 ] zero_data: true } }`:                                                                                         "[request id: <id_unknown>] inference input 'X' data-type is 'INT32', but model 'm' expects 'FP32'",
		`inputs { key: "X" value { data_type: TYPE_FP32 dims: [ 1, 1 ] zero_data: true } }`:                                                                                       "[request id: <id_unknown>] unexpected shape for input 'X' for model 'm'. Expected [-1,-1], got [1,1,1]. ",
		`inputs { key: "T" value { data_type: TYPE_STRING dims: [ 1 ] input_data_file: "text" } }`:                                                                                "[request id: <id_unknown>] expected 2 inputs but got 1 inputs for model 'm'. Got input(s) ['T'], but missing required input(s) ['X']. Please provide all required input(s).",
		`inputs { key: "X" value { data_type: TYPE_FP32 dims: [ 4611686018427387904, 4 ] zero_data: true } }`:                                                                     "warmup setting for input 'X': shape [1,4611686018427387904,4]: element count exceeds 9223372036854775807",
		`inputs { key: "X" value { data_type: TYPE_FP32 dims: [ 1 ] zero_data: true } } inputs { key: "T" value { data_type: TYPE_STRING dims: [ 1 ] input_data_file: "four" } }`: "[request id: <id_unknown>] input 'T' for model 'm': warm-up data file four: ",
	} {
		found := modelconfig.ValidateWarmup(parse(t, inputs+`model_warmup { name: "w" batch_size: 1 `+sample+` }`), dir)
		if want == "" {
			require.Empty(t, found, sample)
			continue
		}
		require.NotEmpty(t, found, sample)
		require.Contains(t, found[0].Msg, strings.ReplaceAll(want, "DIR", dir))
		require.NotZero(t, found[0].Pos.Line)
		require.Empty(t, modelconfig.ValidateWarmup(parse(t, inputs+`model_warmup { name: "w" `+sample+` }`), dir), "batch size 0 is not run")
	}
	found := modelconfig.ValidateWarmupBatches(parse(t, `max_batch_size: 4 model_warmup { name: "w" batch_size: 5 } model_warmup { batch_size: 4 }`))
	require.Len(t, found, 1)
	require.Equal(t, "model_warmup[0].batch_size", found[0].Path)
}

// The texts of states are tested by server/scheduler/sequence, which reports them.
func TestStates(t *testing.T) {
	t.Parallel()
	dir := model(t, map[string]string{"initial_state/four": "0123"})
	state := func(fields string) []modelconfig.Finding {
		return modelconfig.ValidateStates(parse(t, `sequence_batching { state { input_name: "S" output_name: "T" data_type: TYPE_FP32 dims: [ 1 ] `+fields+` } }`), dir)
	}
	require.Empty(t, state(""))
	require.Empty(t, state(`initial_state { name: "i" data_type: TYPE_FP32 dims: [ 1 ] data_file: "four" }`))
	found := state(`initial_state { name: "i" data_type: TYPE_FP32 dims: [ 2 ] data_file: "four" }`)
	require.Len(t, found, 1)
	require.Equal(t, "sequence_batching.state[0].initial_state[0].dims[0]", found[0].Path)
	require.Equal(t, "write 1", found[0].Hint)
}
