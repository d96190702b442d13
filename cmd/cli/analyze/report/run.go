package report

import (
	"context"
	"errors"

	"triton/analyzer/settings"
	"triton/cmd/cli/process"
)

func run(context.Context, process.Process, *settings.Report) error {
	return errors.New("the options are valid; this build cannot report")
}
