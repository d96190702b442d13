package platform

import (
	"net/http"
	"strings"

	"triton/server/http1"
)

// outOfMemory are texts in errors that say that a device or the machine has no memory left.
func outOfMemory() []string {
	return []string{
		"CUDA out of memory", "CUDA_OUT_OF_MEMORY", "Out of memory", "Out Of Memory", "out of memory", "MemoryError", "OutOfMemory", "OOM",
		"Dst tensor is not initialized", "Src tensor is not initialized", "CNMEM_STATUS_OUT_OF_MEMORY", "CUDNN_STATUS_NOT_INITIALIZED",
		"CUBLAS_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_NOT_INITIALIZED", "Failed to allocate memory", "failed to allocate memory",
		"No space left on device",
	}
}

// failureCode returns the status of an error: on 507 the platform unloads other models and
// tries again.
func failureCode(text string) int {
	for _, words := range outOfMemory() {
		if strings.Contains(text, words) {
			return http.StatusInsufficientStorage
		}
	}
	return http.StatusBadRequest
}

// replyInvoke prepares a reply like framing.Reply, and gives errors the status that the
// platform expects.
func replyInvoke(x *http1.Exchange) {
	sageMakerFraming.Reply(x)
	if x.Status >= http.StatusBadRequest && x.Status != http.StatusMethodNotAllowed && x.Status != http.StatusForbidden {
		x.Status = failureCode(string(x.Text))
	}
}
