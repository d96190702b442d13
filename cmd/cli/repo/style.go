package repo

import (
	"triton/cmd/cli/process"
	"triton/pkg/modelconfig"
	"triton/repo"
	"triton/repo/lint"
)

// textStyle is how the findings look as text.
type textStyle struct{ color, excerpt bool }

// style returns how the text looks on the standard output of the process.
func (o *lintOptions) style(p process.Process) (s textStyle, err error) {
	if s.color, err = switched("--color", o.color, p.StdoutTerminal && p.Getenv("NO_COLOR") == ""); err != nil {
		return s, err
	}
	s.excerpt, err = switched("--excerpt", o.excerpt, p.StdoutTerminal)
	return s, err
}

// switched returns whether something is on. The value auto means whether it is by itself.
func switched(flag, value string, auto bool) (bool, error) {
	switch value {
	case "auto":
		return auto, nil
	case "always":
		return true, nil
	case "never":
		return false, nil
	}
	return false, process.UsageError("%s: unknown value %q: use auto, always or never", flag, value)
}

// report returns the report of the findings.
func (s textStyle) report(o lintOptions, models []repo.Model, found []repo.Finding, p process.Process) lint.Report {
	r := lint.Report{
		Rules: lint.Rules(), Version: p.Version, Models: len(models), Findings: found, Color: s.color,
		HelpURI: func(rule string) string { return lint.PageURI(o.rulesURL, rule) },
	}
	if s.excerpt {
		r.Source = func(file string) ([]byte, error) {
			for i := range models {
				if models[i].ConfigFile == file {
					return models[i].ReadConfig()
				}
			}
			return modelconfig.ReadText(file)
		}
	}
	return r
}
