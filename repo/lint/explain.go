package lint

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"triton/pkg/spelling"
	"triton/repo"
)

//go:embed pages/*.txtar
var pages embed.FS

// Page is the explanation of a rule: why it is, how to correct a mistake, a bad and a good example. `triton repo lint
// --explain`, the help in SARIF, docs/rules.md and docs/rules/ are made from the pages; ids, severities and requirements
// come from the rules.
type Page struct {
	repo.Rule
	Why        string // one or two sentences
	Correction string
	Bad, Good  []ExampleFile
	// Settings are options that the linter needs for the examples, such as "cpus".
	Settings map[string]string
}

// ExampleFile is a file of an example.
type ExampleFile struct {
	Name string // below the repository
	Text string
}

// Explain returns the page of a rule.
func Explain(id string) (Page, error) {
	all := Rules()
	id = strings.ToUpper(id)
	i := slices.IndexFunc(all, func(r repo.Rule) bool { return r.ID == id })
	if i < 0 {
		return Page{}, fmt.Errorf("there is no rule %q%s; --rules lists the rules", id, suggestion(all, id))
	}
	return readPage(all[i])
}

func suggestion(all []repo.Rule, id string) string {
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.ID
	}
	if near, ok := spelling.Nearest(id, ids); ok {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// readPage parses the page of a rule: lines "key: text" and the files of the examples.
func readPage(r repo.Rule) (Page, error) {
	text, err := pages.ReadFile("pages/" + r.ID + ".txtar")
	if err != nil {
		return Page{}, fmt.Errorf("rule %s has no page: %w", r.ID, err)
	}
	p := Page{Rule: r, Settings: map[string]string{}}
	archive := txtar.Parse(text)
	for line := range strings.Lines(string(archive.Comment)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case key == "":
		case !ok:
			return Page{}, fmt.Errorf("page of rule %s: %q is not \"key: text\"", r.ID, line)
		case key == "why":
			p.Why = value
		case key == "correction":
			p.Correction = value
		default:
			p.Settings[key] = value
		}
	}
	for _, f := range archive.Files {
		kind, name, _ := strings.Cut(f.Name, "/")
		file := ExampleFile{name, string(f.Data)}
		switch kind {
		case "bad":
			p.Bad = append(p.Bad, file)
		case "good":
			p.Good = append(p.Good, file)
		default:
			return Page{}, fmt.Errorf("page of rule %s: %s is neither below bad/ nor below good/", r.ID, f.Name)
		}
	}
	return p, nil
}

// PageURI returns the address of a rule's page below a base, such as that of a folder of docs/rules on
// a web server.
func PageURI(base, id string) string {
	if base == "" {
		return ""
	}
	return strings.TrimSuffix(base, "/") + "/" + path.Clean(id) + ".md"
}
