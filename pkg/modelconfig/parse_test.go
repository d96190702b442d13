package modelconfig_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
)

// TestParseLikeTriton holds our reader against what NVIDIA's server took or
// logged for the same texts (testdata/triton_text.json, recorded from it).
func TestParseLikeTriton(t *testing.T) {
	t.Parallel()
	for _, c := range recordedTexts(t) {
		_, err := modelconfig.Parse("f", []byte(c.Text))
		if c.Error == "" {
			require.NoError(t, err, c.Text)
			continue
		}
		var es modelconfig.SyntaxErrors
		require.ErrorAs(t, err, &es, "Triton refuses %q: %s", c.Text, c.Error)
		require.Equal(t, c.Error, es[0].Msg, c.Text)
		require.NotEmpty(t, es[0].Hint, c.Text)
	}
}

// recordedText is a configuration and what NVIDIA's server logged about it,
// nothing when it took it.
type recordedText struct{ Text, Error string }

func recordedTexts(t *testing.T) []recordedText {
	t.Helper()
	raw, err := os.ReadFile("testdata/triton_text.json")
	require.NoError(t, err)
	var cases []recordedText
	require.NoError(t, json.Unmarshal(raw, &cases))
	require.Greater(t, len(cases), 90)
	return cases
}

// TestParseEqualsProtobuf reads every seed with protobuf's own reader too.
func TestParseEqualsProtobuf(t *testing.T) {
	t.Parallel()
	compared := 0
	for _, src := range seeds {
		want := &inferencepb.ModelConfig{}
		if prototext.Unmarshal([]byte(src), want) != nil {
			continue
		}
		got, err := modelconfig.Parse("f", []byte(src))
		require.NoError(t, err, src)
		require.True(t, proto.Equal(want, got.ModelConfig), "%s\n%v", src, got.ModelConfig)
		compared++
	}
	require.GreaterOrEqual(t, compared, 12)
}

func TestParseLimits(t *testing.T) {
	t.Parallel()
	_, err := modelconfig.Parse("f", []byte(strings.Repeat("x { ", 100)))
	require.ErrorContains(t, err, "recursion limit")
	_, err = modelconfig.Parse("f", make([]byte, 5<<20))
	require.ErrorContains(t, err, "at most 4194304")
	_, err = modelconfig.Parse("f", []byte(strings.Repeat("wrong: 1\n", 1000)))
	var es modelconfig.SyntaxErrors
	require.ErrorAs(t, err, &es)
	require.Len(t, es, 1000)
	require.Len(t, strings.Split(es.Error(), "\n"), 21)
	require.ErrorContains(t, err, "f:21:1: more mistakes from here on: 980")
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), modelconfig.FileName)
	_, err := modelconfig.ReadFile(path)
	require.EqualError(t, err, "failed to open text file for read "+path+": No such file or directory")
	require.Equal(t, status.Internal, status.CodeOf(err))

	require.NoError(t, os.WriteFile(path, []byte("name: \"m\"\nmax_batchsize: 3\n"), 0o600))
	_, err = modelconfig.ReadFile(path)
	require.EqualError(t, err, "failed to read text proto from "+path+": "+path+
		`:2:1: Message type "inference.ModelConfig" has no field named "max_batchsize"; did you mean "max_batch_size"?`)
	var es modelconfig.SyntaxErrors
	require.True(t, errors.As(err, &es))
}

// A file that is no regular file is refused: to open a named pipe would wait for ever.
func TestReadTextOfOtherFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe, huge := filepath.Join(dir, "pipe"), filepath.Join(dir, "huge")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err := modelconfig.ReadText(pipe)
	require.EqualError(t, err, "failed to open text file for read "+pipe+": it is a named pipe, not a regular file")
	require.NoError(t, os.WriteFile(huge, nil, 0o600))
	require.NoError(t, os.Truncate(huge, 1<<30))
	_, err = modelconfig.ReadText(huge)
	require.EqualError(t, err, "failed to open text file for read "+huge+": it is longer than 16 MiB")
	_, err = modelconfig.ReadText("/dev/zero")
	require.EqualError(t, err, "failed to open text file for read /dev/zero: it is a device, not a regular file")
	_, err = modelconfig.ReadText(dir)
	require.EqualError(t, err, "failed to open text file for read "+dir+": Is a directory")
}
