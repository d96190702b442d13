package doctor

import (
	"context"
	"runtime"

	"triton/cmd/cli/process"
	"triton/server/backend/onnx"
)

func program(_ context.Context, p process.Process, _ options) []Finding {
	f := about("program", OK, "triton %s, %s, %s/%s", p.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if !onnx.Linked {
		f.State = Warning
		f.Found += ", without cgo"
		f = f.do("this build cannot load native engines (ONNX Runtime, CUDA, libraries built for Triton); use the build with cgo for this system if models need them")
	}
	return []Finding{f}
}
