package lsp

import (
	"context"
	"maps"
	"path/filepath"
	"slices"

	"triton/pkg/modelconfig"
	"triton/repo"
	"triton/repo/lint"
)

// check sends findings about all open documents whenever one of them may have new ones, until ctx
// ends.
func (s *server) check(ctx context.Context) {
	others := map[string]bool{} // files with findings that are not open, such as model.py
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.dirty:
		}
		found := map[string][]diagnostic{}
		for _, d := range s.snapshot() {
			if ctx.Err() != nil {
				return
			}
			s.publish(publishDiagnosticsParams{URI: d.uri, Version: &d.version, Diagnostics: s.diagnostics(d, found)})
		}
		for uri := range others {
			if found[uri] == nil {
				found[uri] = []diagnostic{}
			}
		}
		clear(others)
		for uri, list := range found {
			others[uri] = len(list) > 0
			s.publish(publishDiagnosticsParams{URI: uri, Diagnostics: list})
		}
		maps.DeleteFunc(others, func(_ string, has bool) bool { return !has })
	}
}

// snapshot returns copies of the open documents. Their texts do not change.
func (s *server) snapshot() []document {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []document
	for _, uri := range slices.Sorted(maps.Keys(s.documents)) {
		list = append(list, *s.documents[uri])
	}
	return list
}

// diagnostics returns the findings about a document, and adds those about other files of its model
// to others.
func (s *server) diagnostics(d document, others map[string][]diagnostic) []diagnostic {
	own := []diagnostic{}
	for _, f := range s.lint(&d, s.options.Lint) {
		switch {
		case f.File == d.path || f.Line == 0:
			own = append(own, s.diagnostic(&d, f))
		default:
			at := span{position{f.Line - 1, max(f.Col-1, 0)}, position{f.Line - 1, max(f.Col, 1)}}
			uri := uriOf(f.File)
			others[uri] = append(others[uri], s.described(f, at, f.Msg))
		}
	}
	return own
}

// lint returns the findings about the model of a document.
func (s *server) lint(d *document, o lint.Options) []repo.Finding {
	models, err := s.models(d)
	if err != nil {
		return nil
	}
	if !d.saved {
		o.Python = ""
	}
	found, err := lint.ApplyComments(models, lint.Check(models, o))
	if err != nil {
		s.options.Log.Warn("cannot read the comments of a model", "file", d.path, "error", err)
	}
	return slices.DeleteFunc(found, func(f repo.Finding) bool { return f.Model != models[0].Name })
}

// models returns the model of a document and the models that it calls, with the texts of those that
// are open.
func (s *server) models(d *document) ([]repo.Model, error) {
	texts := map[string][]byte{}
	for _, open := range s.snapshot() {
		texts[open.path] = open.text
	}
	texts[d.path] = d.text
	first, err := repo.OpenText(d.path, d.text)
	if err != nil {
		return nil, err
	}
	first.Texts = texts
	models := []repo.Model{first}
	if first.ConfigOnly && filepath.Base(d.path) != modelconfig.FileName {
		return models, nil
	}
	for i := 0; i < len(models); i++ { // composing models may be ensembles
		src, err := models[i].ReadConfig()
		if err != nil {
			continue
		}
		c, err := modelconfig.Parse(models[i].ConfigFile, src)
		if err != nil {
			continue
		}
		for _, step := range c.GetEnsembleScheduling().GetStep() {
			if m, ok := sibling(first.Dir, step.GetModelName()); ok && !has(models, m.Name) {
				m.Texts = texts
				models = append(models, m)
			}
		}
	}
	return models, nil
}

func has(models []repo.Model, name string) bool {
	return slices.ContainsFunc(models, func(m repo.Model) bool { return m.Name == name })
}

// sibling returns the model of a name in the repository of the model in a directory.
func sibling(dir, name string) (repo.Model, bool) {
	m := repo.Model{Repository: filepath.Dir(dir)} // a model without a version has none of its own yet
	return m.Sibling(name)
}

// diagnostic returns a finding in the form of the protocol. One about a file or a folder of the model
// is at the first line of the configuration, with its name.
func (s *server) diagnostic(d *document, f repo.Finding) diagnostic {
	if f.File != d.path {
		name, err := filepath.Rel(filepath.Dir(d.path), f.File)
		if err != nil {
			name = f.File
		}
		return s.described(f, d.span(0, len(d.line(0))), name+": "+f.Msg)
	}
	start := 0
	if f.Line > 0 && f.Line <= len(d.starts) {
		start = min(d.starts[f.Line-1]+max(f.Col-1, 0), len(d.text))
	}
	return s.described(f, d.span(start, wordEnd(d.text, start)), f.Msg)
}

func (s *server) described(f repo.Finding, at span, msg string) diagnostic {
	severities := [...]int{repo.Note: severityInformation, repo.Warning: severityWarning, repo.Error: severityError}
	if f.Hint != "" {
		msg += "\n" + f.Hint
	}
	out := diagnostic{Range: at, Severity: severities[f.Severity], Code: f.Rule, Source: "triton", Message: msg}
	if uri := lint.PageURI(s.options.RulesURL, f.Rule); uri != "" {
		out.CodeDescription = &codeDescription{uri}
	}
	return out
}

// wordEnd returns the end of the word, number or string at an offset; the line's end bounds it.
func wordEnd(text []byte, start int) int {
	end := start
	if end < len(text) && (text[end] == '"' || text[end] == '\'') {
		for end++; end < len(text) && text[end] != '\n'; end++ {
			if text[end] == text[start] {
				return end + 1
			}
		}
		return end
	}
	for end < len(text) && isWord(text[end]) {
		end++
	}
	if end == start && end < len(text) && text[end] != '\n' {
		end++
	}
	return end
}

func isWord(c byte) bool {
	return c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
