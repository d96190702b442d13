package modelconfig_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	"triton/pkg/inferencepb"
)

// TestEveryFieldIsDocumented wants each field of a configuration once in a table of
// docs/config-fields.md, and no other.
func TestEveryFieldIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "config-fields.md"))
	require.NoError(t, err)
	var documented []string
	name := regexp.MustCompile("`([a-z0-9_.]+)`")
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, m := range name.FindAllStringSubmatch(cells[1], -1) {
			documented = append(documented, m[1])
		}
	}
	fields := fieldPaths("", (&inferencepb.ModelConfig{}).ProtoReflect().Descriptor())
	slices.Sort(documented)
	slices.Sort(fields)
	require.Equal(t, fields, documented)
}

// fieldPaths returns the fields of a message and of the messages in it. A map has the
// fields of its values.
func fieldPaths(before string, m protoreflect.MessageDescriptor) []string {
	var all []string
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		path := before + string(f.Name())
		all = append(all, path)
		of := f.Message()
		if f.IsMap() {
			of = f.MapValue().Message()
		}
		if of != nil {
			all = append(all, fieldPaths(path+".", of)...)
		}
	}
	return all
}
