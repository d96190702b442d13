package onnxmodel_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"triton/pkg/modelconfig"
	"triton/pkg/onnxmodel"
)

// TestConfig runs graphs and configurations through Complete and Check.
//
//	graph [file]         lines "input X FLOAT batch 16", "default", "output", "sequence"
//	complete [batch=N]   the input is a configuration; prints notes and result
//	check                the input is a configuration; prints the findings
func TestConfig(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/config", func(t *testing.T, path string) {
		var graph onnxmodel.Model
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "graph":
				graph = parseGraph(t, d.Input)
				graph.Inferred = !d.HasArg("file")
				return ""
			case "complete":
				batch := onnxmodel.DefaultMaxBatch
				d.MaybeScanArgs(t, "batch", &batch)
				return complete(t, d.Input, &graph, batch)
			case "check":
				return check(t, d.Input, &graph)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func parse(t *testing.T, text string) *modelconfig.Config {
	t.Helper()
	c, err := modelconfig.Parse("config.pbtxt", []byte(text))
	require.NoError(t, err)
	c.Name = "m"
	return c
}

func complete(t *testing.T, text string, graph *onnxmodel.Model, batch int) string {
	c := parse(t, text)
	notes, err := onnxmodel.CompleteConfig(c.ModelConfig, graph, batch)
	if err != nil {
		return "error: " + err.Error()
	}
	require.Empty(t, onnxmodel.CheckConfig(c.ModelConfig, graph), "what is completed fits")
	var b strings.Builder
	for _, n := range notes {
		fmt.Fprintln(&b, n)
	}
	return b.String() + string(modelconfig.Encode(c.ModelConfig))
}

func check(t *testing.T, text string, graph *onnxmodel.Model) string {
	c := parse(t, text)
	var b strings.Builder
	for _, f := range onnxmodel.CheckConfig(c.ModelConfig, graph) {
		require.True(t, slices.ContainsFunc(onnxmodel.ConfigRules(), func(r modelconfig.Rule) bool { return r.ID == f.Rule }))
		fmt.Fprintf(&b, "%s\n  %s %s at %s: %s\n", f.Msg, f.Rule, f.Code, f.Path, f.Hint)
	}
	return b.String()
}

func parseGraph(t *testing.T, text string) onnxmodel.Model {
	t.Helper()
	types := map[string]onnxmodel.ElemType{
		"FLOAT": onnxmodel.Float, "INT32": onnxmodel.Int32, "INT64": onnxmodel.Int64, "STRING": onnxmodel.String,
		"BFLOAT16": onnxmodel.BFloat16, "COMPLEX64": 14,
	}
	var m onnxmodel.Model
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		elem, ok := types[words[2]]
		require.True(t, ok, line)
		var dims []any
		for _, w := range words[3:] {
			if n, err := strconv.Atoi(w); err == nil {
				dims = append(dims, n)
			} else {
				dims = append(dims, w)
			}
		}
		v := onnxmodel.Tensor(words[1], elem, dims...)
		switch words[0] {
		case "input":
			m.Inputs = append(m.Inputs, v)
		case "default":
			m.Overridable = append(m.Overridable, v)
		case "output":
			m.Outputs = append(m.Outputs, v)
		case "sequence":
			m.Outputs = append(m.Outputs, onnxmodel.Value{Name: v.Name, Kind: onnxmodel.KindSequence})
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	return m
}
