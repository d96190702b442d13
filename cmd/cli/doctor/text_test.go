package doctor

import (
	"io"
	"testing"

	"triton/pkg/sharedtest"
)

// TestWidths keeps what terminals of four widths show.
func TestWidths(t *testing.T) {
	t.Parallel()
	found := []Finding{
		about("program", OK, "triton 1.2.3, linux/amd64, go1.26.1"),
		about("ONNX Runtime", Failure, "/opt/tritonserver/backends/onnxruntime/libonnxruntime.so.1.23.0: cannot open shared object file").
			do("install it with make onnxruntime, or name it with --backend-config=onnxruntime,library=FILE"),
		about("GPU", Note, "none: libnvidia-ml.so.1 is not installed"),
		about("processors", Warning, "the governor powersave lowers the clock of 2 of 2 processors while they wait, so latencies of single requests are longer").
			do("set the governor performance while you measure: cpupower frequency-set --governor performance"),
	}
	sharedtest.GoldenWidths(t, "doctor", func(w io.Writer) error { return write(w, "text", found) })
}
