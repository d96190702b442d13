package modelconfig_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/modelconfig"
	"triton/pkg/status"
)

// TestRun: the texts are those of NVIDIA's server and its checksum agent, except
// for a path that leaves the model's directory, which that agent reads.
func TestRun(t *testing.T) {
	t.Parallel()
	const right = "acbd18db4cc2f85cedef654fccc4a4d8" // of "foo"
	type finding struct {
		code status.Code
		line int
		msg  string
	}
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "1"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "1", "model.bin"), []byte("foo"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(root, "empty"), nil, 0o600))
	dir := os.DirFS(root)
	for name, test := range map[string]struct {
		agents string
		want   []finding
	}{
		"none":          {"", nil},
		"equal":         {`agents { name: "checksum" parameters { key: "MD5:1/model.bin" value: "` + right + `" } }`, nil},
		"lower case":    {`agents { name: "checksum" parameters { key: "md5:1/model.bin" value: "` + right + `" } }`, nil},
		"an empty file": {`agents { name: "checksum" parameters { key: "MD5:empty" value: "d41d8cd98f00b204e9800998ecf8427e" } }`, nil},
		"all that is wrong": {"agents {\n name: \"checksum\"\n parameters { key: \"MD5:1/model.bin\" value: \"00\" }\n parameters { key: \"MD5:none\" value: \"00\" }\n parameters { key: \"SHA:x\" value: \"\" }\n parameters { key: \"x\" value: \"\" }\n parameters { key: \"MD5:../x\" value: \"\" }\n parameters { key: \"MD5:1\" value: \"\" }\n}\nagents { name: \"other\" }", []finding{
			{status.InvalidArg, 7, "failed to open text file for read ../x: it is outside of the model's directory"},
			{status.InvalidArg, 8, "failed to open text file for read 1: Is a directory"},
			{status.InvalidArg, 3, "Mismatched MD5 hash for file 1/model.bin, expect: 00, got: " + right},
			{status.InvalidArg, 4, "failed to open text file for read none: No such file or directory"},
			{status.Unsupported, 5, "Unsupported checksum algorithm: SHA"},
			{status.InvalidArg, 6, "failed to parse key: x"},
			{status.InvalidArg, 10, "unable to find 'libtritonrepoagent_other.so' for repo agent 'other'"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := modelconfig.Parse("config.pbtxt", []byte("model_repository_agents { "+test.agents+" }"))
			require.NoError(t, err)
			var got []finding
			for _, f := range modelconfig.RunAgents(c, dir) {
				require.Equal(t, "TRN830", f.Rule)
				require.NotEmpty(t, f.Hint)
				got = append(got, finding{f.Code, f.Pos.Line, f.Msg})
			}
			require.Equal(t, test.want, got)
		})
	}
}
