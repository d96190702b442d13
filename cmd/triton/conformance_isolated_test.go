package main_test

import (
	"os"
	"testing"

	"triton/server/servertest/conformance"
)

// TestConformanceIsolated: models in processes of their own give the same answers. Loading
// takes longer, so `make conformance` asks.
func TestConformanceIsolated(t *testing.T) {
	if *record {
		t.Skip("-record uses models in the process of the server")
	}
	if os.Getenv("TRITON_CONFORMANCE_LONG") == "" {
		t.Skip("starts a process for each model: `make conformance` asks")
	}
	lib := needORT(t)
	t.Setenv(cpuOnly, "1")
	runSuites(t, func(t *testing.T, s *conformance.Suite) *conformance.Target {
		if s.Needs["repository"] != "" {
			t.Skip("the models run in processes of their own either way: TestConformanceBinary asks")
		}
		flags := append(flagsOf(t, s), "--onnxruntime-library", lib, "--isolation=process")
		return dial(t, serve(t, conformanceModels(t, s, false), flags...))
	}, ours)
}
