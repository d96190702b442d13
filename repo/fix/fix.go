// Package fix corrects the mistakes in a configuration that have one safe correction: the server
// refuses the configuration as it is, and the correction follows from the model or the schema; or
// the correction changes nothing that the server does. Comments stay. What a person must decide,
// such as a batch size, is not corrected.
package fix

import (
	"bytes"

	"triton/pkg/modelconfig/pbtxt"
	"triton/repo"
)

// Fix is the correction of one finding.
type Fix struct {
	Title string // what it does, such as "remove platform"
	apply func(src []byte) ([]byte, error)
	right string // the word to write in the place of the finding, for a misspelled one
}

// Apply returns the corrected text of the configuration.
func (f Fix) Apply(src []byte) ([]byte, error) { return f.apply(src) }

// Of returns the correction of a finding in the text of the configuration of a model.
func Of(model string, src []byte, f repo.Finding) (Fix, bool) {
	correct, ok := corrections[f.Rule]
	if !ok {
		return Fix{}, false
	}
	return correct(target{model: model, src: src, Finding: f})
}

// Text is the text of one configuration before and after All.
type Text struct {
	File          string
	Before, After []byte
	Fixes         []string // the titles of the corrections
	Conflicts     []string // which corrections were left out because they and others undo each other
}

// Check returns the findings to correct. It reads the configurations by Model.ReadConfig.
type Check func([]repo.Model) ([]repo.Finding, error)

// All corrects the configurations of the models until no finding has a correction, and formats those
// that it changes. The models keep the corrected texts. If corrections undo each other, the last of
// them is left out and the text says so. All returns the texts that it changed, or could not change
// for that reason.
func All(models []repo.Model, check Check) ([]*Text, error) {
	c := corrected{texts: map[string]*Text{}, left: map[place]bool{}}
	for {
		done, err := c.run(models, check)
		if err != nil {
			return nil, err
		}
		if done {
			break
		}
		c.reset(models)
	}
	for _, m := range c.made {
		c.texts[m.file].Fixes = append(c.texts[m.file].Fixes, m.title)
	}
	var texts []*Text
	for _, t := range c.order {
		if bytes.Equal(t.Before, t.After) {
			if len(t.Conflicts) > 0 {
				texts = append(texts, t)
			}
			continue
		}
		if out, err := pbtxt.Format(t.File, t.After); err == nil { // else mistakes are left, and so is the text
			t.After = out
		}
		texts = append(texts, t)
	}
	return texts, nil
}
