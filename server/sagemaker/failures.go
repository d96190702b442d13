package sagemaker

import (
	"bytes"
	"net/http"
	"strings"
)

// outOfMemory are the words by which the platform's users know that a device or
// the machine has no memory left.
func outOfMemory() []string {
	return []string{
		"CUDA out of memory", "CUDA_OUT_OF_MEMORY", "Out of memory", "Out Of Memory", "out of memory", "MemoryError", "OutOfMemory", "OOM",
		"Dst tensor is not initialized", "Src tensor is not initialized", "CNMEM_STATUS_OUT_OF_MEMORY", "CUDNN_STATUS_NOT_INITIALIZED",
		"CUBLAS_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_NOT_INITIALIZED", "Failed to allocate memory", "failed to allocate memory",
		"No space left on device",
	}
}

// failureCode is the status of an error: 507 has the platform unload other
// models and try again.
func failureCode(text string) int {
	for _, words := range outOfMemory() {
		if strings.Contains(text, words) {
			return http.StatusInsufficientStorage
		}
	}
	return http.StatusBadRequest
}

// failures gives error responses the status that the platform knows. Their text
// is held back until the end; other responses pass.
type failures struct {
	http.ResponseWriter
	code int
	text bytes.Buffer
}

func (f *failures) WriteHeader(code int) {
	f.code = code
	if !f.failed() {
		f.ResponseWriter.WriteHeader(code)
	}
}

func (f *failures) Write(p []byte) (int, error) {
	if f.failed() {
		return f.text.Write(p)
	}
	return f.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (f *failures) Unwrap() http.ResponseWriter { return f.ResponseWriter }

// failed says whether the platform has a status of its own for the response.
func (f *failures) failed() bool {
	return f.code >= http.StatusBadRequest && f.code != http.StatusMethodNotAllowed && f.code != http.StatusForbidden
}

// end sends an error.
func (f *failures) end() {
	if !f.failed() {
		return
	}
	f.ResponseWriter.WriteHeader(failureCode(f.text.String()))
	_, _ = f.ResponseWriter.Write(f.text.Bytes())
}
