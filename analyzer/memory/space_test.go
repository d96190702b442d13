package memory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/memory"
)

func TestParseList(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]int{
		"4":          {4},
		"1,4,8":      {1, 4, 8},
		"1:4":        {1, 2, 3, 4},
		"2:9:3":      {2, 5, 8},
		"3:3":        {3},
		"1, 2:4 ,16": {1, 2, 3, 4, 16},
	} {
		got, err := memory.ParseList(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for text, want := range map[string]string{
		"":          `"" is not a positive number`,
		"1,":        `"" is not a positive number`,
		"0":         `"0" is not a positive number`,
		"-2":        `"-2" is not a positive number`,
		"x":         `"x" is not a positive number`,
		"1:4:0":     `"0" is not a positive number`,
		"4:1":       `range "4:1" ends before it starts`,
		"1:2:3:4":   `"1:2:3:4" is not of the form start:end:step`,
		"1:1000000": `range "1:1000000" is more than 1024 numbers`,
	} {
		_, err := memory.ParseList(text)
		require.EqualError(t, err, want, text)
	}
}

func TestSpaceOrder(t *testing.T) {
	t.Parallel()
	s := memory.Space{Instances: []int{4, 1, 4}, Batches: []int{8, 1}, Concurrencies: []int{2, 1}}
	require.NoError(t, s.Validate())
	require.Equal(t, []int{1, 4}, s.Counts())
	require.Equal(t, []int{1, 8}, s.BatchSizes())
	require.Equal(t, []memory.Load{{1, 1}, {1, 2}, {8, 1}, {8, 2}}, s.Loads())
	require.Equal(t, 8, s.Points())
	require.Equal(t, []int{4, 1, 4}, s.Instances, "the space itself stays")
	require.Equal(t, []int{1, 2, 4}, memory.Space{}.Counts())
	require.EqualError(t, memory.Space{Instances: []int{0}, Batches: []int{1}}.Validate(),
		"instance counts: 0 is less than 1\nconcurrencies: nothing to try")
}
