package ui_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/ui"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := ui.Table(&out, []ui.Column{{Title: "Model"}, {Title: "Infer/s", Align: ui.Right}, {Title: "p99 us", Align: ui.Right}},
		[][]string{{"resnet50", "12.5", "81000"}, {"a", "1000.0", "9"}})
	require.NoError(t, err)
	require.Equal(t, `┌──────────┬─────────┬────────┐
│ Model    │ Infer/s │ p99 us │
├──────────┼─────────┼────────┤
│ resnet50 │    12.5 │  81000 │
│ a        │  1000.0 │      9 │
└──────────┴─────────┴────────┘
`, out.String())
}

func TestSparkline(t *testing.T) {
	t.Parallel()
	require.Equal(t, "▁▅█", ui.Sparkline([]float64{9, 0, 4, 8}[1:], 10))
	require.Equal(t, "▅█", ui.Sparkline([]float64{9, 0, 4, 8}, 2), "the last ones")
	require.Equal(t, "▁▁", ui.Sparkline([]float64{0, 0}, 5))
	require.Empty(t, ui.Sparkline(nil, 5))
}

func TestBar(t *testing.T) {
	t.Parallel()
	for share, want := range map[float64]string{0: "░░░░", 0.5: "██░░", 1: "████", 7: "████", -1: "░░░░"} {
		require.Equal(t, want, ui.Bar(share, 4))
	}
}

// buffer is a terminal of sorts.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func TestLivePrintsInOrderAndEnds(t *testing.T) {
	var out buffer
	drawn := make(chan struct{}, 1000)
	l := ui.StartLive(&out, time.Millisecond, func(int) string {
		select {
		case drawn <- struct{}{}:
		default:
		}
		return "busy"
	})
	<-drawn
	for _, line := range []string{"first", "second\n", "third\n"} {
		l.Print(line)
	}
	require.NoError(t, l.Stop())
	text := out.b.String()
	first, second, third := strings.Index(text, "first"), strings.Index(text, "second"), strings.Index(text, "third")
	require.True(t, 0 <= first && first < second && second < third, "%q", text)
}
