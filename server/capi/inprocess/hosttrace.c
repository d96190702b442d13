//go:build cgo && linux

#include "_cgo_export.h"
#include "objects.h"

static void report(uintptr_t handle, uint64_t ns, const char* name) { capiHostActivity(handle, ns, (char*)name); }

static const capi_host_trace host = {.report = report, .spawn = capiHostChild, .drop = capiHostDrop};

TRITONSERVER_InferenceTrace* capi_host(uintptr_t handle) { return capi_trace_of_host(&host, handle); }
