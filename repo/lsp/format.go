package lsp

import (
	"bytes"
	"slices"
	"strings"

	"triton/pkg/modelconfig/pbtxt"
	"triton/repo"
	"triton/repo/fix"
)

// formatting returns the edits of the formatter; none for a text with mistakes, which the findings
// show.
func (s *server) formatting(p documentParams) (any, error) {
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	out, err := pbtxt.Format(d.path, d.text)
	if err != nil {
		return nil, nil //nolint:nilerr // the answer null means that nothing is changed
	}
	return d.edits(out), nil
}

// codeActions returns the corrections of the findings in a range, comments that accept them, and all
// corrections of the document at once.
func (s *server) codeActions(p codeActionParams) (any, error) {
	d, err := s.document(p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	models, err := s.models(d)
	if err != nil {
		return nil, err
	}
	wanted := func(kind string) bool {
		return len(p.Context.Only) == 0 || slices.ContainsFunc(p.Context.Only, func(only string) bool {
			return kind == only || strings.HasPrefix(kind, only+".")
		})
	}
	actions := []codeAction{}
	if wanted(kindQuickFix) {
		from, to := d.offset(p.Range.Start), d.offset(p.Range.End)
		for _, f := range s.lint(d, s.options.Lint) {
			if f.File != d.path || f.Line == 0 {
				continue
			}
			at := d.starts[f.Line-1] + max(f.Col-1, 0)
			if at <= to && wordEnd(d.text, at) >= from {
				actions = append(actions, s.quickFixes(d, models[0].Name, f)...)
			}
		}
	}
	if wanted(kindFixAll) {
		actions = append(actions, s.fixAll(d, models)...)
	}
	return actions, nil
}

func (s *server) quickFixes(d *document, model string, f repo.Finding) []codeAction {
	var actions []codeAction
	add := func(title string, out []byte, preferred bool) {
		actions = append(actions, codeAction{
			Title: title, Kind: kindQuickFix, Diagnostics: []diagnostic{s.diagnostic(d, f)}, IsPreferred: preferred,
			Edit: workspaceEdit{map[string][]textEdit{d.uri: d.edits(out)}},
		})
	}
	if x, ok := fix.Of(model, d.text, f); ok {
		if out, err := x.Apply(d.text); err == nil {
			add(f.Rule+": "+x.Title, out, true)
		}
	}
	if f.Severity < repo.Error {
		start := d.starts[f.Line-1]
		line := d.line(f.Line - 1)
		indent := line[:len(line)-len(strings.TrimLeft(string(line), " \t"))]
		comment := string(indent) + "# triton-lint: ignore " + f.Rule + " REASON\n"
		out := slices.Concat(d.text[:start], []byte(comment), d.text[start:])
		if strings.TrimSpace(string(d.text[start:start+max(f.Col-1, 0)])) == "" { // else the comment is above another field
			add("Accept "+f.Rule+" here", out, false)
		}
	}
	return actions
}

func (s *server) fixAll(d *document, models []repo.Model) []codeAction {
	one := []repo.Model{models[0]}
	one[0].Texts = map[string][]byte{d.path: d.text}
	o := s.options.Lint
	o.AllMistakes = true
	texts, err := fix.All(one, func(corrected []repo.Model) ([]repo.Finding, error) {
		changed := *d
		changed.set(d.version, string(corrected[0].Texts[d.path]))
		return s.lint(&changed, o), nil
	})
	i := slices.IndexFunc(texts, func(t *fix.Text) bool { return t.File == d.path && !bytes.Equal(t.Before, t.After) })
	if err != nil || i < 0 {
		return nil
	}
	return []codeAction{{
		Title: "Correct what has a safe correction", Kind: kindFixAll,
		Edit: workspaceEdit{map[string][]textEdit{d.uri: d.edits(texts[i].After)}},
	}}
}
