package profile

import (
	"triton/analyzer/profile"
	"triton/analyzer/settings"
	"triton/cmd/cli/process"
)

// writeReports writes tables, summaries and detailed reports.
func writeReports(process.Process, *settings.Profile, *profile.Report, *progress) error { return nil }
