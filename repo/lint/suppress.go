package lint

import (
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"triton/repo"
)

var (
	ruleUnused  = repo.Rule{ID: "TRN004", Severity: repo.Warning, Doc: "a triton-lint comment suppresses a finding"}
	ruleComment = repo.Rule{ID: "TRN005", Severity: repo.Warning, Doc: "a triton-lint comment names rules, above or behind a field"}
)

// machineRules are rules whose findings depend on the machine and on the server that is meant: a
// comment that suppresses nothing here may do so elsewhere.
var machineRules = map[string]bool{
	"TRN108": true, "TRN109": true, "TRN411": true, "TRN414": true, "TRN518": true, "TRN519": true,
	"TRN901": true, "TRN902": true, "TRN903": true, "TRN904": true, "TRN905": true,
}

// unreadRules are the rules of files that could not be read: then the other rules were not checked.
var unreadRules = []string{"TRN001", "TRN002"}

// ApplyComments leaves out the findings that their users accept by a comment in config.pbtxt, and reports comments that
// suppress nothing.
//
//	# triton-lint: ignore TRN310 reason         the field below, or the field that it is behind
//	# triton-lint: ignore-model TRN501 reason   all findings about the model
func ApplyComments(models []repo.Model, found []repo.Finding) ([]repo.Finding, error) {
	rules := Rules()
	known := func(id string) bool {
		return slices.ContainsFunc(rules, func(r repo.Rule) bool { return r.ID == id })
	}
	var files []*commentFile
	seen := map[string]bool{}
	for i := range models {
		list, err := openComments(&models[i], known)
		if err != nil {
			return nil, err
		}
		for _, f := range list {
			if !seen[f.path] {
				seen[f.path] = true
				files = append(files, f)
			}
		}
	}
	kept := slices.DeleteFunc(slices.Clone(found), func(f repo.Finding) bool {
		return slices.ContainsFunc(files, func(file *commentFile) bool { return file.suppresses(f) })
	})
	for _, file := range files {
		kept = append(kept, file.wrong...)
		if !file.model.ConfigOnly && !slices.ContainsFunc(found, file.incomplete) {
			kept = append(kept, file.unused()...)
		}
	}
	sort.SliceStable(kept, func(i, j int) bool { return repo.Compare(kept[i], kept[j]) < 0 })
	return kept, nil
}

// openComments reads the comments of a model's configurations.
func openComments(m *repo.Model, known func(string) bool) ([]*commentFile, error) {
	custom, err := m.CustomConfigs()
	if err != nil {
		return nil, err
	}
	var list []*commentFile
	for _, path := range append([]string{m.ConfigFile}, custom...) {
		one := *m
		one.ConfigFile = path
		src, err := one.ReadConfig()
		if err != nil {
			continue // there is none, or the linter reports it
		}
		if strings.Contains(string(src), marker) {
			list = append(list, readComments(&one, src, known))
		}
	}
	return list, nil
}

// incomplete reports whether a finding says that the model of a file was not checked.
func (f *commentFile) incomplete(g repo.Finding) bool {
	return slices.Contains(unreadRules, g.Rule) && filepath.Clean(filepath.Dir(g.File)) == filepath.Clean(f.model.Dir)
}
