package fix

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"sort"

	"triton/repo"
)

// corrected is the state of All.
type corrected struct {
	texts map[string]*Text // by file
	order []*Text
	made  []correction   // since the texts were as they are in the files
	left  map[place]bool // corrections that are left out: they and others undo each other
}

// place is a rule in a file.
type place struct{ file, rule string }

// correction is one that was made.
type correction struct {
	place
	title string
	pass  int
}

// run corrects the models in passes: a correction may uncover another mistake, such as a misspelled
// field in a message that was misspelled. It reports false if the passes came back to texts that
// were corrected before, and leaves out one of the corrections from then on.
func (c *corrected) run(models []repo.Model, check Check) (done bool, err error) {
	seen := map[[sha256.Size]byte]int{c.state(): 0}
	for pass := 1; ; pass++ {
		list, err := check(models)
		if err != nil {
			return false, err
		}
		found, before := byFile(list), len(c.made)
		for i := range models {
			if err := c.correct(&models[i], found, pass); err != nil {
				return false, err
			}
		}
		if len(c.made) == before {
			return true, nil
		}
		first, again := seen[c.state()]
		switch {
		case again:
			c.leaveOut(first, "undo each other")
			return false, nil
		case pass == c.mostPasses():
			c.leaveOut(pass-2, "do not come to an end")
			return false, nil
		}
		seen[c.state()] = pass
	}
}

// mostPasses is more passes than the texts need: a pass corrects at least one finding, and all that
// do not depend on each other.
func (c *corrected) mostPasses() int {
	n := 100
	for _, t := range c.order {
		n += bytes.Count(t.Before, []byte("\n"))
	}
	return n
}

// state identifies the texts as they are.
func (c *corrected) state() [sha256.Size]byte {
	h := sha256.New()
	for _, t := range c.order {
		if !bytes.Equal(t.Before, t.After) {
			fmt.Fprintf(h, "%q %d\n", t.File, len(t.After))
			h.Write(t.After)
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// leaveOut takes one correction out of those to make. It and the others since a pass have no end. It
// is the one that was made last for the first time, so that it is the same whatever else is
// corrected meanwhile.
func (c *corrected) leaveOut(since int, problem string) {
	endless := map[place]bool{}
	for _, m := range c.made {
		if m.pass > since {
			endless[m.place] = true
		}
	}
	var order []place // as they were made for the first time
	for _, m := range c.made {
		if endless[m.place] && !slices.Contains(order, m.place) {
			order = append(order, m.place)
		}
	}
	last, rules := order[len(order)-1], ""
	for _, p := range order {
		if p.rule != last.rule && (p.file == last.file || rules == "") {
			rules = p.rule + " and "
		}
	}
	c.left[last] = true
	t := c.texts[last.file]
	t.Conflicts = append(t.Conflicts, fmt.Sprintf("the corrections of %s%s %s: %s is not corrected", rules, last.rule, problem, last.rule))
}

// reset takes back all corrections.
func (c *corrected) reset(models []repo.Model) {
	c.made = nil
	for _, t := range c.order {
		t.After = t.Before
	}
	for i := range models {
		for path := range models[i].Texts {
			if t := c.texts[path]; t != nil {
				models[i].Texts[path] = t.Before
			}
		}
	}
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

// correct corrects the configurations of one model once.
func (c *corrected) correct(m *repo.Model, found map[string][]repo.Finding, pass int) error {
	custom, err := m.CustomConfigs()
	if err != nil {
		return err
	}
	for _, path := range append([]string{m.ConfigFile}, custom...) {
		one := *m
		one.ConfigFile = path
		src, err := one.ReadConfig()
		if err != nil {
			continue // there is none, or the linter reports it
		}
		list := slices.DeleteFunc(found[path], func(f repo.Finding) bool { return c.left[place{path, f.Rule}] })
		out, made := apply(m.Name, src, list)
		if len(made) == 0 {
			continue
		}
		t := c.texts[path]
		if t == nil {
			t = &Text{File: path, Before: src}
			c.texts[path] = t
			c.order = append(c.order, t)
		}
		t.After = out
		for _, f := range made {
			f.pass, f.file = pass, path
			c.made = append(c.made, f)
		}
		if m.Texts == nil {
			m.Texts = map[string][]byte{}
		}
		m.Texts[path] = out
	}
	return nil
}

// apply corrects one text from its end to its start, so that the places of the findings that are
// left stay true. Misspelled words come first: they hide the rest.
func apply(model string, src []byte, found []repo.Finding) (out []byte, made []correction) {
	if out, made := respell(model, src, found); len(made) > 0 {
		return out, made
	}
	for _, f := range found {
		x, ok := Of(model, src, f)
		if !ok || x.right != "" {
			continue
		}
		if out, err := x.Apply(src); err == nil && !bytes.Equal(out, src) {
			src = out
			made = append(made, correction{place: place{rule: f.Rule}, title: f.Rule + ": " + x.Title})
		}
	}
	return src, made
}
