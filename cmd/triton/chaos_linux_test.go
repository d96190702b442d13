package main_test

import (
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/sharedtest"
	"triton/server/servertest/chaos"
)

// `make chaos` plays ten minutes of events on a server, a part in each mode of model control, and
// `make chaos-short` two. TRITON_CHAOS is another duration; without it the test plays a few seconds, in
// explicit mode only.
//
//	go test ./cmd/triton -run TestChaos -args -seed 7          the plan of a seed
//	go test ./cmd/triton -run TestChaos -args -replay FILE     the episodes of a journal, at their times
//	go test ./cmd/triton -run TestChaos -args -journals DIR    keeps journals and server logs there
var (
	chaosSeed     = flag.Uint64("seed", 1, "seed of the plan of TestChaos")
	chaosReplay   = flag.String("replay", "", "journal whose episodes TestChaos plays")
	chaosJournals = flag.String("journals", "", "folder for the journals of TestChaos")
)

func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs for seconds")
	}
	length, long, modes := 2*time.Second, false, []chaos.Control{chaos.Explicit}
	if text := os.Getenv("TRITON_CHAOS"); text != "" {
		d, err := time.ParseDuration(text)
		require.NoError(t, err)
		length, long, modes = 2*d/5, true, append(modes, chaos.Poll, chaos.Auto)
	}
	for _, control := range modes {
		t.Run(string(control), func(t *testing.T) {
			played := length
			if control == chaos.Auto {
				played = length / 2
			}
			plan := chaos.NewPlan(*chaosSeed, control, played)
			if *chaosReplay != "" {
				var err error
				plan, err = chaos.ReadPlan(*chaosReplay)
				require.NoError(t, err)
				if plan.Control != control {
					t.Skip("the journal is of the other mode")
				}
			}
			playChaos(t, plan, long)
		})
	}
}

func playChaos(t *testing.T, plan chaos.Plan, long bool) {
	dir, kept := t.TempDir(), *chaosJournals
	if kept == "" {
		kept = t.TempDir()
	}
	require.NoError(t, os.MkdirAll(kept, 0o755))
	require.NoError(t, chaos.Prepare(dir))
	depot, err := chaos.OpenDepot(dir)
	require.NoError(t, err)
	defer depot.Close()
	temp := filepath.Join(dir, "tmp")
	require.NoError(t, os.Mkdir(temp, 0o755))

	profile := sharedtest.Address(t)
	flags := []string{
		"serve", "--model-repository", filepath.Join(dir, "models"), "--model-repository", depot.URL, "--repository-cache-directory=" + filepath.Join(dir, "cache"),
		"--onnxruntime-library", needORT(t), needPython(t),
		"--log-file=" + filepath.Join(kept, string(plan.Control)+".log"), "--model-control-mode=" + string(plan.Control),
		"--cache-config=local,size=1048576", "--trace-config=triton,file=" + filepath.Join(dir, "trace.json"), "--trace-config=level=OFF",
	}
	if plan.Control != chaos.Poll {
		flags = append(flags, "--load-model=*")
	}
	if plan.Control != chaos.Explicit {
		flags = append(flags, "--repository-poll-secs=1")
	}
	if plan.Control == chaos.Auto {
		flags = append(flags, "--model-keep-alive-secs=1")
	}
	cmd := exec.Command(os.Args[0], flags...)
	cmd.Env = append(os.Environ(), profileVariable+"="+profile, "TMPDIR="+temp)
	s := start(t, cmd)
	waitPort(t, profile)

	c := chaos.Config{
		Control: plan.Control, Plan: plan, Root: dir, Depot: depot, Quiet: time.Second,
		Journal: filepath.Join(kept, string(plan.Control)+".jsonl"), Progress: t.Logf,
	}
	if long {
		c.Quiet = 20 * time.Second
	}
	report, err := chaos.Run(t.Context(), chaos.Server{
		HTTP: s.http, GRPC: s.grpc, Metrics: s.metrics, Profile: profile, PID: cmd.Process.Pid, Temp: temp,
	}, c)
	require.NoError(t, err)
	t.Logf("%v", report)
	require.Zero(t, report.Wrong, "repeat with -args -seed %d", plan.Seed)
	require.Empty(t, report.Leaks)
	require.Equal(t, report.Sent, report.Right+report.Failed+report.Cancelled, "requests that ended, each once")
	s.stop(t)
	left, err := filepath.Glob(filepath.Join(temp, "[^.]*")) // .ses is of ONNX Runtime
	require.NoError(t, err)
	require.Empty(t, left, "files of the server")
}

func waitPort(t *testing.T, address string) {
	t.Helper()
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	}, time.Minute, 10*time.Millisecond)
}
