package settings

// Report holds the options of `triton analyze report`.
type Report struct {
	Mode    string // Online or Offline
	Quiet   bool
	Verbose bool

	ConfigFile             string
	CheckpointDirectory    string
	ExportPath             string
	Configs                []ReportConfig
	OutputFormats          []string // "pdf", "csv", "png"; our own "svg", "json" and "html"
	Plots                  []Plot   // of all variants that give none
	AlwaysReportGPUMetrics bool
	Notices                []string

	set map[string]bool
}

// NewReport returns the options with their defaults.
func NewReport() *Report {
	return &Report{
		Mode: Online, CheckpointDirectory: "checkpoints", ExportPath: ".", OutputFormats: []string{"pdf"},
		set: map[string]bool{},
	}
}

// ReportConfig is a variant to report.
type ReportConfig struct {
	Name  string // of the variant, such as resnet_config_3
	Plots []Plot
}
