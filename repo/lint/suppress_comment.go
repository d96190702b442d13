package lint

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"triton/pkg/modelconfig/pbtxt"
	"triton/repo"
)

const marker = "triton-lint:"

var (
	directive = regexp.MustCompile(`^#\s*` + marker + `\s*(\S*)\s*(.*)$`)
	ruleID    = regexp.MustCompile(`^TRN[0-9]{3}$`)
)

// commentFile is a configuration with comments.
type commentFile struct {
	model *repo.Model
	path  string
	lines []int // offset of each line
	list  []*suppression
	wrong []repo.Finding
	known func(rule string) bool
}

// suppression is what one comment says about one rule.
type suppression struct {
	at         pbtxt.Comment
	rule       string
	whole      bool // of the model
	start, end int  // offsets of the field; none if whole
	used       bool
}

func readComments(m *repo.Model, src []byte, known func(string) bool) *commentFile {
	f := &commentFile{model: m, path: m.ConfigFile, lines: []int{0}, known: known}
	for i, c := range src {
		if c == '\n' {
			f.lines = append(f.lines, i+1)
		}
	}
	tree := pbtxt.Parse(src)
	f.fields(tree.Fields)
	f.comments(tree.Dangling, 0, 0)
	return f
}

func (f *commentFile) fields(fields []*pbtxt.Field) {
	for _, field := range fields {
		f.comments(field.Leading, field.Start, field.End)
		f.comment(field.Trailing, field.Start, field.End)
		if field.Value != nil {
			f.value(field.Value, field.Start, field.End)
		}
	}
}

// value reads the comments in a value of the range [start, end).
func (f *commentFile) value(v *pbtxt.Value, start, end int) {
	f.comment(v.Opening, start, end)
	for _, p := range v.Parts {
		f.comments(p.Leading, start, end)
		f.comment(p.Trailing, start, end)
	}
	f.fields(v.Fields)
	for _, e := range v.Values {
		f.comments(e.Leading, e.Start, e.End)
		f.comment(e.Trailing, e.Start, e.End)
		f.value(e, e.Start, e.End)
	}
	f.comments(v.Dangling, 0, 0)
}

func (f *commentFile) comments(list []pbtxt.Comment, start, end int) {
	for _, c := range list {
		f.comment(&c, start, end)
	}
}

// comment reads one comment about the field in [start, end); the range is empty if there is none.
func (f *commentFile) comment(c *pbtxt.Comment, start, end int) {
	if c == nil {
		return
	}
	m := directive.FindStringSubmatch(c.Text)
	if m == nil {
		return
	}
	whole := m[1] == "ignore-model"
	switch {
	case !whole && m[1] != "ignore":
		f.mistake(c, fmt.Sprintf("unknown instruction %q in a triton-lint comment", m[1]), "write ignore or ignore-model, and rules")
		return
	case !whole && start == end:
		f.mistake(c, "the comment is neither above nor behind a field", "move it there, or write ignore-model")
		return
	}
	n := 0
	for _, word := range strings.Fields(strings.ReplaceAll(m[2], ",", " ")) {
		if !ruleID.MatchString(word) {
			break // the reason
		}
		n++
		if !f.known(word) {
			f.mistake(c, fmt.Sprintf("there is no rule %s", word), "triton repo lint --rules lists the rules")
			continue
		}
		f.list = append(f.list, &suppression{at: *c, rule: word, whole: whole, start: start, end: end})
	}
	if n == 0 {
		f.mistake(c, "the comment names no rule", "write # triton-lint: "+m[1]+" TRN... and the reason")
	}
}

func (f *commentFile) mistake(c *pbtxt.Comment, msg, hint string) {
	f.wrong = append(f.wrong, f.finding(ruleComment, *c, msg, hint))
}

func (f *commentFile) finding(rule repo.Rule, c pbtxt.Comment, msg, hint string) repo.Finding {
	return repo.Finding{
		Rule: rule.ID, Severity: rule.Severity, Model: f.model.Name, File: f.path,
		Line: c.Line, Col: c.Start - f.lines[c.Line-1] + 1, Msg: msg, Hint: hint,
	}
}

// suppresses reports whether a comment of the file is about a finding.
func (f *commentFile) suppresses(g repo.Finding) bool {
	found := false
	for _, s := range f.list {
		if s.rule == g.Rule && f.covers(s, g) {
			s.used, found = true, true
		}
	}
	return found
}

func (f *commentFile) covers(s *suppression, g repo.Finding) bool {
	if s.whole {
		return g.File == f.path || g.Model == f.model.Name && below(f.model.Dir, g.File)
	}
	if g.File != f.path || g.Line < 1 || g.Line > len(f.lines) {
		return false
	}
	at := f.lines[g.Line-1] + max(g.Col, 1) - 1
	return s.start <= at && at < s.end
}

// below reports whether a path is in a folder. Either may be relative.
func below(dir, path string) bool {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	if path, err = filepath.Abs(path); err != nil {
		return false
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// unused returns a finding for each comment and rule that suppressed nothing.
func (f *commentFile) unused() []repo.Finding {
	var list []repo.Finding
	for _, s := range f.list {
		if s.used || machineRules[s.rule] {
			continue
		}
		list = append(list, f.finding(ruleUnused, s.at, fmt.Sprintf("the comment suppresses %s, which is not found", s.rule), "remove it"))
	}
	return list
}
