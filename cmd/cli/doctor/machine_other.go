//go:build !linux

package doctor

import (
	"context"

	"triton/cmd/cli/process"
)

func sharedMemory() []Finding { return nil }

func limits(context.Context, process.Process, options) []Finding { return nil }

func clock(context.Context, process.Process, options) []Finding { return nil }

func freeSpace(string) (uint64, bool) { return 0, false }
