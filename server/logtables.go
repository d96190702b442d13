package server

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"triton/pkg/log"
	"triton/server/repository"
	"triton/server/store/remote"
)

// logModels writes the table of models, as Triton does after loading.
func (s *Server) logModels() {
	rows := [][]string{{"Model", "Version", "Status"}}
	for _, m := range s.models.Status() {
		version, status := m.Version, m.Reason
		if version == "" {
			version = "-"
		}
		switch {
		case m.Ready:
			status = "READY"
		case m.Version != "":
			status = "UNAVAILABLE: " + m.Reason
		}
		rows = append(rows, []string{m.ID.String(), version, status})
	}
	log.Table(context.Background(), s.opts.Log, "", table(rows))
}

// logOptions writes the table of options: Triton's rows, and rows about the machine.
func (s *Server) logOptions() {
	o := &s.opts
	rows := [][]string{
		{"Option", "Value"},
		{"server_id", o.ID},
		{"server_version", TritonVersion},
		{"program_version", o.Version},
		{"server_extensions", strings.Join(extensions, " ")},
	}
	for i, path := range o.Repositories {
		rows = append(rows, []string{fmt.Sprintf("model_repository_path[%d]", i), remote.Hidden(path)})
	}
	rows = append(rows, []string{"model_control_mode", controlName(o.Models.Control)})
	for i, name := range o.Models.Startup {
		rows = append(rows, []string{fmt.Sprintf("startup_models_%d", i), name})
	}
	rows = append(rows,
		[]string{"strict_model_config", digit(!o.AutoComplete)},
		[]string{"model_config_name", o.Models.ConfigName},
		[]string{"rate_limit", map[bool]string{false: "OFF", true: "EXEC_COUNT"}[o.RateLimiter.Enabled]},
	)
	rows = append(rows, o.RateLimiter.rows()...)
	rows = append(rows,
		[]string{"min_supported_compute_capability", fmt.Sprintf("%.1f", o.MinComputeCapability)},
		[]string{"strict_readiness", digit(o.StrictReadiness)},
		[]string{"exit_timeout", fmt.Sprint(int(o.ExitTimeout / time.Second))},
		[]string{"cache_enabled", digit(o.Cache.Name != "")},
		[]string{"cpus", fmt.Sprint(s.cpus)},
	)
	for _, d := range s.gpus.devices() {
		rows = append(rows, []string{fmt.Sprintf("gpu[%d]", d.Index), d.Name})
	}
	log.Table(context.Background(), o.Log, "", table(rows))
}

// controlName returns the name of a control mode: Triton's, or for its lack our own.
func controlName(c repository.Control) string {
	return [...]string{"MODE_NONE", "MODE_POLL", "MODE_EXPLICIT", "MODE_AUTO"}[c]
}

func digit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// table draws rows in Triton's form; the first is the heading.
func table(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	rule := func() {
		for _, w := range widths {
			b.WriteString("+" + strings.Repeat("-", w+2))
		}
		b.WriteString("+\n")
	}
	rule()
	for i, r := range rows {
		for j, cell := range r {
			b.WriteString("| " + cell + strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell)+1))
		}
		b.WriteString("|\n")
		if i == 0 {
			rule()
		}
	}
	rule()
	return b.String()
}
