package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func digestOf(t *testing.T, output string) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, digest(&b, strings.NewReader(output)))
	return b.String()
}

func TestDigest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, output, want string }{
		{"a subtest", `ok  	triton/pkg/log	0.1s
--- FAIL: TestSuites (1.20s)
    --- FAIL: TestSuites/life_none (0.30s)
        suite_test.go:80: life_none.txt:9: the index
            --- sent
            > POST
        suite_test.go:90: server log:
            started
    --- PASS: TestSuites/other (0.10s)
        suite_test.go:80: not of a failure
    suite_test.go:200: 7 cases
FAIL
FAIL	triton/cmd/triton	3.4s
?   	triton/pkg/none	[no test files]
FAIL
`, `
======== 1 failed; the whole output is above ========
FAIL triton/cmd/triton: TestSuites/life_none (0.30s)
        suite_test.go:80: life_none.txt:9: the index
            --- sent
            > POST
        suite_test.go:90: server log:
            started
`},
		{"lines of a parent", `--- FAIL: TestA (0.00s)
    a_test.go:1: mine
    --- FAIL: TestA/b (0.00s)
        a_test.go:2: its
--- FAIL: TestAlone (0.00s)
--- FAIL: TestAloneToo (0.00s)
FAIL
FAIL	triton/a	0.1s
`, `
======== 4 failed; the whole output is above ========
FAIL triton/a: TestA (0.00s)
    a_test.go:1: mine
FAIL triton/a: TestA/b (0.00s)
        a_test.go:2: its
FAIL triton/a: TestAlone (0.00s)
FAIL triton/a: TestAloneToo (0.00s)
`},
		{"a time limit", `panic: test timed out after 10m0s
	running tests:
		TestHangs (9m58s)

goroutine 1 [running]:
FAIL	triton/a	600.0s
`, `
======== 1 failed; the whole output is above ========
FAIL triton/a: panic: test timed out after 10m0s
	running tests:
		TestHangs (9m58s)
goroutine 1 [running]:
`},
		{"a data race", `==================
WARNING: DATA RACE
Write at 0x00c0 by goroutine 8:
==================
--- FAIL: TestRace (0.00s)
    testing.go:1617: race detected during execution of test
FAIL
FAIL	triton/a	0.1s
`, `
======== 2 failed; the whole output is above ========
FAIL triton/a: WARNING: DATA RACE
Write at 0x00c0 by goroutine 8:
FAIL triton/a: TestRace (0.00s)
    testing.go:1617: race detected during execution of test
`},
		{"a compiler", `# triton/a [triton/a.test]
./a.go:7:2: undefined: x
FAIL	triton/a [build failed]
`, `
======== 1 failed; the whole output is above ========
FAIL triton/a: # triton/a [triton/a.test]
./a.go:7:2: undefined: x
`},
		{"an exit", `PASS
goleak: Errors on successful test run: found unexpected goroutines:
FAIL	triton/a	0.1s
`, `
======== 1 failed; the whole output is above ========
FAIL triton/a: FAIL	triton/a	0.1s
PASS
goleak: Errors on successful test run: found unexpected goroutines:
`},
		{"no package", "flag provided but not defined: -x\n", `
======== 1 failed; the whole output is above ========
FAIL ?: the output ends here
flag provided but not defined: -x
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, digestOf(t, c.output))
		})
	}
}

// However much fails, the digest is short.
func TestDigestIsShort(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, "--- FAIL: Test%d (0.00s)\n", i)
		for range 100 {
			fmt.Fprintf(&b, "    a_test.go:1: %s\n", strings.Repeat("é", 5000))
		}
	}
	b.WriteString("FAIL\nFAIL\ttriton/a\t0.1s\n")
	got := digestOf(t, b.String())
	require.LessOrEqual(t, strings.Count(got, "\n"), 95)
	require.Less(t, len(got), 50_000)
	require.Contains(t, got, "    ... 80 more lines\n")
	require.Contains(t, got, "more bytes)\n")
	require.Regexp(t, `and \d+ more\n$`, got)
}

// TestScript runs gotest.sh: the output as it is, the digest after a failure only, the exit status of the tests.
func TestScript(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash: ", err)
	}
	for _, c := range []struct {
		name, run, want string
		code            int
	}{
		{"passes", "echo 'ok  	triton/a	0.1s'", "ok  \ttriton/a\t0.1s\n", 0},
		{"fails", "echo '--- FAIL: TestA (0.00s)'; echo 'FAIL	triton/a	0.1s' >&2; exit 3", "--- FAIL: TestA (0.00s)\nFAIL\ttriton/a\t0.1s\n" +
			"\n======== 1 failed; the whole output is above ========\nFAIL triton/a: TestA (0.00s)\n", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			temp := t.TempDir()
			cmd := exec.CommandContext(t.Context(), bash, "deploy/gotest.sh", "sh", "-c", c.run)
			cmd.Dir = root // as make does: the script's name is relative
			cmd.Env = append(os.Environ(), "TMPDIR="+temp)
			out, err := cmd.CombinedOutput()
			code := 0
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				code = exit.ExitCode()
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, c.want, string(out))
			require.Equal(t, c.code, code)
			left, err := os.ReadDir(temp)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}
