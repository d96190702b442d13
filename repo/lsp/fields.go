package lsp

import (
	"cmp"
	_ "embed"
	"regexp"
	"strings"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"

	"triton/pkg/inferencepb"
)

// fieldTables are the tables of docs/config-fields.md.
//
//go:embed fields.md
var fieldTables string

// effects are the effects of a field by the kind of model: "plain", "sequence", "decoupled" and
// "ensemble". Not every field has one for each kind.
type effects map[string]string

var (
	quotedPath = regexp.MustCompile("`([a-z0-9_.]+)`")
	docLink    = regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)
)

// descriptions returns the effects of the fields by their paths without numbers and keys.
var descriptions = sync.OnceValue(func() map[string]effects {
	all := map[string]effects{}
	var header []string
	for line := range strings.Lines(fieldTables) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if cells[0] == "Field" {
			header = cells
			continue
		}
		e := effects{}
		for i := 1; i < len(cells)-1; i++ { // the last one is what checks the row
			for _, kind := range strings.Split(strings.ToLower(header[i]), ", ") {
				e[kind] = docLink.ReplaceAllString(cells[i], "$1")
			}
		}
		for _, m := range quotedPath.FindAllStringSubmatch(cells[0], -1) {
			all[m[1]] = e
		}
	}
	return all
})

var indexes = regexp.MustCompile(`\[[^\]]*\]`)

// describe returns the description of a field in Markdown.
func describe(path string, fd protoreflect.FieldDescriptor, c *inferencepb.ModelConfig) string {
	text := "**" + string(fd.Name()) + "** " + typeName(fd)
	e, ok := descriptions()[indexes.ReplaceAllString(path, "")]
	if !ok {
		return text
	}
	kind := "plain"
	switch {
	case c.GetEnsembleScheduling() != nil:
		kind = "ensemble"
	case c.GetSequenceBatching() != nil:
		kind = "sequence"
	case c.Decoupled():
		kind = "decoupled"
	}
	effect := e[kind]
	if effect == "as plain" || effect == "" {
		effect = e["plain"]
	}
	if effect == "" { // a field of one kind of model only
		effect = cmp.Or(e["sequence"], e["ensemble"])
	}
	switch effect {
	case "yes", "":
		return text
	case "–":
		effect = "no meaning for this kind of model"
	}
	return text + "\n\n" + effect
}

// typeName returns the type of a field as people write it.
func typeName(fd protoreflect.FieldDescriptor) string {
	name := fd.Kind().String()
	switch {
	case fd.IsMap():
		return "map of " + fd.MapKey().Kind().String() + " to " + typeName(fd.MapValue())
	case fd.Message() != nil:
		name = string(fd.Message().Name())
	case fd.Enum() != nil:
		name = string(fd.Enum().Name())
	}
	if fd.IsList() {
		return "list of " + name
	}
	return name
}
