package process

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExitCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{errors.New("broken"), 1, "triton: broken\n"},
		{UsageError("no %s", "model"), 2, "triton: no model\n"},
		{&ExitError{Code: 99}, 99, ""},
		{fmt.Errorf("run: %w", &ExitError{4, errors.New("no server")}), 4, "triton: run: no server\n"},
	} {
		var errs bytes.Buffer
		require.Equal(t, c.code, Process{Stderr: &errs}.ExitCode(c.err))
		require.Equal(t, c.text, errs.String())
	}
}
