//go:build cgo && linux

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "host.h"

TRITONSERVER_Error *trt_fail(TRITONSERVER_Error_Code code, const char *format, ...) {
	char text[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return TRITONSERVER_ErrorNew(code, text);
}

int64_t trt_clock(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

enum { TRT_DISCARDED = 256 };

static void *discarded[TRT_DISCARDED];
static uint32_t discards;

void trt_discard(void *object) {
	uint32_t at = __atomic_fetch_add(&discards, 1, __ATOMIC_RELAXED) % TRT_DISCARDED;
	free(__atomic_exchange_n(&discarded[at], object, __ATOMIC_ACQ_REL));
}

void trt_names_clear(trt_names *n) {
	for (uint32_t i = 0; i < n->count; i++) {
		free(n->names[i]);
	}
	free(n->names);
	n->names = NULL;
	n->count = 0;
}

TRITONSERVER_Error *trt_call_backend(void *entry, TRITONBACKEND_Backend *b) {
	return ((TRITONSERVER_Error * (*)(TRITONBACKEND_Backend *)) entry)(b);
}

TRITONSERVER_Error *trt_call_attribute(void *entry, TRITONBACKEND_Backend *b, TRITONBACKEND_BackendAttribute *a) {
	a->last = &a->first;
	return ((TRITONSERVER_Error * (*)(TRITONBACKEND_Backend *, TRITONBACKEND_BackendAttribute *)) entry)(b, a);
}

TRITONSERVER_Error *trt_call_model(void *entry, TRITONBACKEND_Model *m) {
	return ((TRITONSERVER_Error * (*)(TRITONBACKEND_Model *)) entry)(m);
}

TRITONSERVER_Error *trt_call_instance(void *entry, TRITONBACKEND_ModelInstance *i) {
	return ((TRITONSERVER_Error * (*)(TRITONBACKEND_ModelInstance *)) entry)(i);
}

TRITONSERVER_Error *trt_batcher_new(void *entry, TRITONBACKEND_Batcher **b, TRITONBACKEND_Model *m) {
	return ((TRITONSERVER_Error * (*)(TRITONBACKEND_Batcher **, TRITONBACKEND_Model *)) entry)(b, m);
}

TRITONSERVER_Error *trt_batcher_free(void *entry, TRITONBACKEND_Batcher *b) {
	return ((TRITONSERVER_Error * (*)(TRITONBACKEND_Batcher *)) entry)(b);
}

TRITONSERVER_Error *trt_batch_begin(void *entry, const TRITONBACKEND_Batcher *b, void **userp) {
	return ((TRITONSERVER_Error * (*)(const TRITONBACKEND_Batcher *, void **)) entry)(b, userp);
}

TRITONSERVER_Error *trt_batch_include(void *entry, TRITONBACKEND_Request *r, void *userp, bool *include) {
	return ((TRITONSERVER_Error * (*)(TRITONBACKEND_Request *, void *, bool *)) entry)(r, userp, include);
}

TRITONSERVER_Error *trt_batch_end(void *entry, void *userp) {
	return ((TRITONSERVER_Error * (*)(void *)) entry)(userp);
}

TRITONSERVER_Error *TRITONBACKEND_ApiVersion(uint32_t *major, uint32_t *minor) {
	TRT_NEED(major);
	TRT_NEED(minor);
	*major = TRITONBACKEND_API_VERSION_MAJOR;
	*minor = TRITONBACKEND_API_VERSION_MINOR;
	return NULL;
}

// The memory manager has no state: its only memory is that of the process.
TRITONSERVER_Error *TRITONBACKEND_MemoryManagerAllocate(TRITONBACKEND_MemoryManager *manager, void **buffer,
	const TRITONSERVER_MemoryType type, const int64_t id, const uint64_t size) {
	TRT_NEED(buffer);
	if (type != TRITONSERVER_MEMORY_CPU) {
		return trt_fail(TRITONSERVER_ERROR_UNSUPPORTED,
			"this server's memory manager has no %s memory", type == TRITONSERVER_MEMORY_GPU ? "GPU" : "pinned");
	}
	*buffer = malloc(size == 0 ? 1 : size);
	if (*buffer == NULL) {
		return trt_fail(TRITONSERVER_ERROR_UNAVAILABLE, "no memory for %llu bytes", (unsigned long long)size);
	}
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_MemoryManagerFree(TRITONBACKEND_MemoryManager *manager, void *buffer,
	const TRITONSERVER_MemoryType type, const int64_t id) {
	if (type != TRITONSERVER_MEMORY_CPU) {
		return trt_fail(TRITONSERVER_ERROR_INVALID_ARG, "TRITONBACKEND_MemoryManagerFree: the memory is not of this memory manager");
	}
	free(buffer);
	return NULL;
}
