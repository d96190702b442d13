// Package fix corrects the mistakes in a configuration that have one safe correction: the server
// refuses the configuration as it is, and the correction follows from the model or the schema; or
// the correction changes nothing that the server does. Comments stay. What a person must decide,
// such as a batch size, is not corrected.
package fix

import (
	"bytes"
	"cmp"
	"slices"
	"sort"

	"triton/pkg/modelconfig/format"
	"triton/repo"
)

// Fix is the correction of one finding.
type Fix struct {
	Title string // what it does, such as "remove platform"
	apply func(src []byte) ([]byte, error)
}

// Apply returns the corrected text of the configuration.
func (f Fix) Apply(src []byte) ([]byte, error) { return f.apply(src) }

// Rules returns the ids of the rules with findings that may have a correction.
func Rules() []string {
	var ids []string
	for id := range corrections {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Of returns the correction of a finding in the text of the configuration of a model.
func Of(model string, src []byte, f repo.Finding) (Fix, bool) {
	correct, ok := corrections[f.Rule]
	if !ok {
		return Fix{}, false
	}
	return correct(target{model: model, src: src, Finding: f})
}

// maxPasses bounds All: a correction may uncover another mistake, such as a misspelled field below
// one that was misspelled.
const maxPasses = 10

// Text is the text of one configuration before and after All.
type Text struct {
	File          string
	Before, After []byte
	Fixes         []string // the titles of the corrections
}

// All corrects the configurations of the models and formats those that it changes. check returns
// the findings to correct; it reads the configurations by Model.ReadConfig. The models keep the
// corrected texts.
func All(models []repo.Model, check func([]repo.Model) ([]repo.Finding, error)) ([]*Text, error) {
	c := corrected{texts: map[string]*Text{}}
	for range maxPasses {
		found, err := check(models)
		if err != nil {
			return nil, err
		}
		c.found = byFile(found)
		changed := false
		for i := range models {
			more, err := c.pass(&models[i])
			if err != nil {
				return nil, err
			}
			changed = changed || more
		}
		if !changed {
			break
		}
	}
	for _, t := range c.order {
		if out, err := format.Source(t.File, t.After); err == nil { // else mistakes are left, and so is the text
			t.After = out
		}
	}
	return c.order, nil
}

// byFile returns the findings that have a place in a file, from the end of each file to its start.
func byFile(found []repo.Finding) map[string][]repo.Finding {
	files := map[string][]repo.Finding{}
	for _, f := range found {
		if f.Line > 0 {
			files[f.File] = append(files[f.File], f)
		}
	}
	for _, own := range files {
		sort.SliceStable(own, func(i, j int) bool { return cmp.Or(own[j].Line-own[i].Line, own[j].Col-own[i].Col) < 0 })
	}
	return files
}

// corrected are the texts of All.
type corrected struct {
	found map[string][]repo.Finding // of this pass, by file
	texts map[string]*Text          // by file
	order []*Text
}

// pass corrects the configurations of one model once.
func (c *corrected) pass(m *repo.Model) (changed bool, err error) {
	custom, err := m.CustomConfigs()
	if err != nil {
		return false, err
	}
	for _, path := range append([]string{m.ConfigFile}, custom...) {
		one := *m
		one.ConfigFile = path
		src, err := one.ReadConfig()
		if err != nil {
			continue // there is none, or the linter reports it
		}
		out, titles := apply(m.Name, src, c.found[path])
		if bytes.Equal(out, src) {
			continue
		}
		changed = true
		t := c.texts[path]
		if t == nil {
			t = &Text{File: path, Before: src}
			c.texts[path] = t
			c.order = append(c.order, t)
		}
		t.After = out
		t.Fixes = append(t.Fixes, titles...)
		if m.Texts == nil {
			m.Texts = map[string][]byte{}
		}
		m.Texts[path] = out
	}
	return changed, nil
}

// apply corrects one text from its end to its start, so that the places of the findings that are
// left stay true.
func apply(model string, src []byte, found []repo.Finding) (out []byte, titles []string) {
	for _, f := range found {
		x, ok := Of(model, src, f)
		if !ok {
			continue
		}
		if out, err := x.Apply(src); err == nil && !bytes.Equal(out, src) {
			src = out
			titles = append(titles, f.Rule+": "+x.Title)
		}
	}
	return src, titles
}
