package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const hookConfig = "name:\"m\"\nbackend: \"identity\"\ndynamic_batching { }\n"

// program returns a folder with triton, and one with a model that has a warning and is not
// formatted.
func program(t *testing.T) (bin, models string) {
	t.Helper()
	bin, models = t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(os.Args[0], filepath.Join(bin, "triton"))) // see TestMain
	require.NoError(t, os.MkdirAll(filepath.Join(models, "m", "1"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(models, "m", "config.pbtxt"), []byte(hookConfig), 0o644))
	return bin, models
}

func exitCode(t *testing.T, cmd *exec.Cmd) (int, string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// TestPreCommitHooks runs the hooks as pre-commit does: the entry with the names of files.
func TestPreCommitHooks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../.pre-commit-hooks.yaml")
	require.NoError(t, err)
	var hooks []struct{ ID, Name, Description, Entry, Language, Files string }
	require.NoError(t, yaml.Unmarshal(text, &hooks))
	want := map[string]struct {
		code int
		out  string
	}{
		"triton-repo-lint": {1, "dynamic_batching has no effect"},
		"triton-repo-fmt":  {0, "config.pbtxt"},
	}
	require.Len(t, hooks, len(want))
	for _, h := range hooks {
		require.Contains(t, want, h.ID)
		require.NotEmpty(t, h.Name)
		require.NotEmpty(t, h.Description)
		require.Equal(t, "golang", h.Language, "pre-commit builds the program")
		files := regexp.MustCompile(h.Files)
		require.True(t, files.MatchString("models/m/config.pbtxt"))
		require.False(t, files.MatchString("models/m/myconfig.pbtxt"))
		bin, models := program(t)
		words := strings.Fields(h.Entry)
		require.Equal(t, "triton", words[0])
		file := filepath.Join(models, "m", "config.pbtxt")
		code, out := exitCode(t, exec.CommandContext(t.Context(), filepath.Join(bin, "triton"), append(words[1:], file)...))
		require.Equal(t, want[h.ID].code, code, out)
		require.Contains(t, out, want[h.ID].out)
		after, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, h.ID == "triton-repo-fmt", string(after) != hookConfig)
	}
}

// TestAction runs the step of the GitHub action that checks repositories.
func TestAction(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash")
	}
	text, err := os.ReadFile("../../deploy/lint-action/action.yml")
	require.NoError(t, err)
	var action struct {
		Name, Description string
		Inputs            map[string]struct{ Description, Default string }
		Runs              struct {
			Using string
			Steps []struct {
				Name, Shell, Run string
				Env              map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &action))
	require.Equal(t, "composite", action.Runs.Using)
	require.NotEmpty(t, action.Description)
	step := action.Runs.Steps[len(action.Runs.Steps)-1]
	require.Equal(t, "lint", step.Name)
	require.Equal(t, "bash", step.Shell)
	require.NotContains(t, step.Run, "${{", "inputs come by the environment, and cannot be commands")
	input := regexp.MustCompile(`^\$\{\{ inputs\.([a-z-]+) \}\}$`)

	for name, c := range map[string]struct {
		inputs map[string]string
		code   int
		out    string
	}{
		"defaults":    {nil, 1, "::warning file="},
		"only errors": {map[string]string{"severity": "error"}, 0, ""},
		"never fails": {map[string]string{"fail-on": "none"}, 0, "::warning file="},
		"sarif":       {map[string]string{"sarif": "out.sarif"}, 1, "::warning file="},
		"no command":  {map[string]string{"severity": "error; touch hacked", "paths": "$(touch hacked) `touch hacked`"}, 2, "unknown severity"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin, models := program(t)
			cmd := exec.CommandContext(t.Context(), bash, "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
			cmd.Dir = models
			cmd.Env = append(os.Environ(), "RUNNER_TEMP="+bin)
			for variable, expression := range step.Env {
				m := input.FindStringSubmatch(expression)
				require.NotNil(t, m, expression)
				in, known := action.Inputs[m[1]]
				require.True(t, known, m[1])
				require.NotEmpty(t, in.Description)
				value := in.Default
				if v, ok := c.inputs[m[1]]; ok {
					value = v
				}
				cmd.Env = append(cmd.Env, variable+"="+value)
			}
			code, out := exitCode(t, cmd)
			require.Equal(t, c.code, code, out)
			require.Contains(t, out, c.out)
			require.NoFileExists(t, filepath.Join(models, "hacked"))
			if file := c.inputs["sarif"]; file != "" {
				text, err := os.ReadFile(filepath.Join(models, file))
				require.NoError(t, err)
				require.Contains(t, string(text), `"ruleId": "TRN310"`)
			}
		})
	}
}
