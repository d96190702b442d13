package modelconfig_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cockroachdb/datadriven"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// TestValidate runs configurations through the steps of a load on a machine
// without GPUs. The first line of each is what Triton reports (see
// TestCompareValidation); the others are for the linter.
func TestValidate(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/validate", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return load(t, d)
		})
	})
}

func load(t *testing.T, d *datadriven.TestData) string {
	var model string
	d.ScanArgs(t, "model", &model)
	dir := fstest.MapFS{"1/model.py": {}}
	if d.HasArg("nofile") {
		dir = fstest.MapFS{"1/other": {}}
	}
	c, err := modelconfig.Parse("config.pbtxt", []byte(d.Input+"\n"))
	if err != nil {
		return err.Error()
	}
	if err := c.Detect(model, dir); err != nil {
		return err.Error()
	}
	c.Normalize()
	found := append(c.Validate(), c.ValidateIO()...)
	c.NormalizeInstanceGroups(modelconfig.Machine{})
	found = append(found, c.ValidateInstanceGroups(modelconfig.Machine{})...)
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%s\n  %s at %d:%d %s: %s\n", f.Msg, f.Rule, f.Pos.Line, f.Pos.Col, f.Path, f.Hint)
	}
	return b.String()
}

// TestParse reads texts that are right or wrong. What protobuf's own reader
// takes must mean the same to ours.
func TestParse(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/parse", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			c, err := modelconfig.Parse("f", []byte(d.Input))
			theirs := &inferencepb.ModelConfig{}
			theirErr := prototext.Unmarshal([]byte(d.Input), theirs)
			switch d.Cmd {
			case "position":
				if err != nil {
					return err.Error()
				}
				var b strings.Builder
				for _, a := range d.CmdArgs {
					p := c.Position(strings.ReplaceAll(a.Key, "~", `"`))
					fmt.Fprintf(&b, "%s %d:%d\n", a.Key, p.Line, p.Col)
				}
				return b.String()
			case "parse":
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			if err != nil {
				return err.Error()
			}
			if theirErr == nil && !proto.Equal(theirs, c.ModelConfig) {
				d.Fatalf(t, "protobuf reads %v, we read %v", theirs, c.ModelConfig)
			}
			note := ""
			if theirErr != nil {
				note = "(not read by Go's protobuf)\n"
			}
			return note + string(modelconfig.Encode(c.ModelConfig))
		})
	})
}
