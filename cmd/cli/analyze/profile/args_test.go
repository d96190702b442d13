package profile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"triton/cmd/cli/analyze/profile"
	"triton/cmd/cli/clitest"
)

func TestArgs(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"":                                   "model-analyzer",
		"profile -m models":                  "model-analyzer profile -m models",
		"-m offline profile -m models":       "model-analyzer profile --mode=offline -m models",
		"--mode=offline report -n a":         "model-analyzer report --mode=offline -n a",
		"--mode offline analyze":             "model-analyzer analyze --mode=offline",
		"--mod offline profile":              "model-analyzer profile --mode=offline",
		"-moffline profile":                  "model-analyzer profile --mode=offline",
		"-m":                                 "model-analyzer",
		"-m x --version":                     "--version",
		"--help":                             "model-analyzer --help",
		"-q profile":                         "model-analyzer -q profile",
		"other":                              "model-analyzer other",
		"profile --mode offline -m x -m y":   "model-analyzer profile --mode offline -m x -m y",
		"-m online -m offline profile -q -v": "model-analyzer profile --mode=offline -q -v",
	} {
		assert.Equal(t, want, strings.Join(profile.ModelAnalyzerArgs(strings.Fields(args)), " "), args)
	}
}

// TestProgram runs the program under its name.
func TestProgram(t *testing.T) {
	t.Parallel()
	code, out, _ := clitest.RunAs(t, "/usr/bin/model-analyzer")
	assert.Zero(t, code)
	assert.Contains(t, out, "profile     Find the fastest configurations of models")
	code, out, _ = clitest.RunAs(t, "model-analyzer", "--version")
	assert.Zero(t, code)
	assert.Contains(t, out, "1.2.3")
	code, out, _ = clitest.RunAs(t, "model-analyzer", "report", "--help")
	assert.Zero(t, code)
	assert.Contains(t, out, "--report-model-configs")
	code, _, errs := clitest.RunAs(t, "model-analyzer", "-m", "both", "profile")
	assert.Equal(t, 2, code)
	assert.Equal(t, "triton: argument --mode: invalid choice: 'both' (choose from 'online', 'offline')\n", errs)
	code, _, errs = clitest.RunAs(t, "model-analyzer", "profil")
	assert.Equal(t, 2, code)
	assert.Equal(t, "triton: unknown command \"profil\" for \"triton model-analyzer\"; did you mean \"profile\"?\n", errs)
	code, out, _ = clitest.RunAs(t, "model-analyzer", "__complete", "profile", "--run-config-search-mo")
	assert.Zero(t, code)
	assert.Contains(t, out, "--run-config-search-mode\t")
}
