package fix_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/modelconfig"
	"triton/repo"
	"triton/repo/fix"
)

// demand is a finding of a made-up rule: the type of the first input must be another one.
func demand(m repo.Model, rule, dataType string) repo.Finding {
	return repo.Finding{
		Rule: rule, Model: m.Name, File: m.ConfigFile, Line: 1, Col: 1,
		Field: "input[0].data_type", Msg: "wrong type", Hint: "write data_type: " + dataType,
	}
}

// TestConflicts: corrections that undo each other end, the text says which rules these are, and all
// others are made.
func TestConflicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		find     func(m repo.Model, dataType string) []repo.Finding
		want     string // type of the first input after that
		fixes    []string
		conflict []string
		rename   bool // each check finds that the directory has a longer name
	}{
		{
			name: "two rules in turn",
			find: func(m repo.Model, dataType string) []repo.Finding {
				if dataType == "TYPE_FP32" {
					return []repo.Finding{demand(m, "TRN603", "TYPE_FP16")}
				}
				return []repo.Finding{demand(m, "TRN604", "TYPE_FP32")}
			},
			want: "TYPE_FP16", fixes: []string{"TRN603: write data_type: TYPE_FP16"},
			conflict: []string{"the corrections of TRN603 and TRN604 undo each other: TRN604 is not corrected"},
		},
		{
			name: "two rules at once",
			find: func(m repo.Model, _ string) []repo.Finding {
				return []repo.Finding{demand(m, "TRN603", "TYPE_FP16"), demand(m, "TRN604", "TYPE_FP32")}
			},
			want: "TYPE_FP16", fixes: []string{"TRN603: write data_type: TYPE_FP16"},
			conflict: []string{"the corrections of TRN603 and TRN604 undo each other: TRN604 is not corrected"},
		},
		{
			name: "one rule",
			find: func(m repo.Model, dataType string) []repo.Finding {
				if dataType == "TYPE_FP32" {
					return []repo.Finding{demand(m, "TRN603", "TYPE_FP16")}
				}
				return []repo.Finding{demand(m, "TRN603", "TYPE_FP32")}
			},
			want:     "TYPE_FP32",
			conflict: []string{"the corrections of TRN603 undo each other: TRN603 is not corrected"},
		},
		{
			name: "three types in turn",
			find: func(m repo.Model, dataType string) []repo.Finding {
				switch dataType {
				case "TYPE_FP32":
					return []repo.Finding{demand(m, "TRN603", "TYPE_FP16")}
				case "TYPE_FP16":
					return []repo.Finding{demand(m, "TRN604", "TYPE_INT8")}
				}
				return []repo.Finding{demand(m, "TRN604", "TYPE_FP32")}
			},
			want: "TYPE_FP16", fixes: []string{"TRN603: write data_type: TYPE_FP16"},
			conflict: []string{"the corrections of TRN603 and TRN604 undo each other: TRN604 is not corrected"},
		},
		{
			name:   "without an end",
			rename: true,
			find: func(m repo.Model, dataType string) []repo.Finding {
				if dataType == "TYPE_FP32" {
					return []repo.Finding{demand(m, "TRN603", "TYPE_FP16")}
				}
				return []repo.Finding{{Rule: "TRN102", File: m.ConfigFile, Line: 1, Col: 1, Field: "name"}}
			},
			want: "TYPE_FP16", fixes: []string{"TRN603: write data_type: TYPE_FP16"},
			conflict: []string{"the corrections of TRN102 do not come to an end: TRN102 is not corrected"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			src := "name: \"m\" input { name: \"I\" data_type: TYPE_FP32 dims: [ 1 ] } # comment\ninstance_group { count: 0 }\n"
			m, err := repo.OpenText(filepath.Join("absent", "m", "config.pbtxt"), []byte(src))
			require.NoError(t, err)
			models := []repo.Model{m}
			texts, err := fix.All(models, func(models []repo.Model) ([]repo.Finding, error) {
				text, err := models[0].ReadConfig()
				require.NoError(t, err)
				parsed, err := modelconfig.Parse("f", text)
				require.NoError(t, err)
				if c.rename {
					models[0].Name += "m"
				}
				found := c.find(models[0], parsed.Input[0].DataType.String())
				if parsed.Has("instance_group[0].count") {
					found = append(found, repo.Finding{Rule: "TRN410", File: m.ConfigFile, Line: 2, Col: 1, Field: "instance_group[0].count"})
				}
				return found, nil
			})
			require.NoError(t, err)
			require.Len(t, texts, 1)
			parsed, err := modelconfig.Parse("f", texts[0].After)
			require.NoError(t, err)
			require.Equal(t, c.want, parsed.Input[0].DataType.String())
			require.False(t, parsed.Has("instance_group[0].count"), "the other correction is made")
			require.Contains(t, string(texts[0].After), "# comment")
			require.ElementsMatch(t, append(c.fixes, "TRN410: remove count"), texts[0].Fixes)
			require.Equal(t, c.conflict, texts[0].Conflicts)
		})
	}
}
