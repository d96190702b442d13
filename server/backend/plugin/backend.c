//go:build cgo && linux

// Backends and what they say about themselves.

#include <stdlib.h>
#include <string.h>

#include "host.h"

// There is one memory manager, and no member of it is used.
static char manager;

TRITONSERVER_Error *TRITONBACKEND_BackendName(TRITONBACKEND_Backend *b, const char **name) {
	TRT_CHECK(b, TRT_BACKEND, "backend");
	*name = b->name;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_BackendConfig(TRITONBACKEND_Backend *b, TRITONSERVER_Message **config) {
	TRT_CHECK(b, TRT_BACKEND, "backend");
	*config = b->config;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_BackendExecutionPolicy(TRITONBACKEND_Backend *b, TRITONBACKEND_ExecutionPolicy *policy) {
	TRT_CHECK(b, TRT_BACKEND, "backend");
	*policy = b->policy;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_BackendSetExecutionPolicy(TRITONBACKEND_Backend *b, TRITONBACKEND_ExecutionPolicy policy) {
	TRT_CHECK(b, TRT_BACKEND, "backend");
	if (!b->initializing) {
		return trt_fail(TRITONSERVER_ERROR_UNSUPPORTED, "%s: the policy can be set in TRITONBACKEND_Initialize only", __func__);
	}
	b->policy = policy;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_BackendArtifacts(TRITONBACKEND_Backend *b, TRITONBACKEND_ArtifactType *type, const char **location) {
	TRT_CHECK(b, TRT_BACKEND, "backend");
	*type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
	*location = b->location;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_BackendMemoryManager(TRITONBACKEND_Backend *b, TRITONBACKEND_MemoryManager **m) {
	TRT_CHECK(b, TRT_BACKEND, "backend");
	*m = (TRITONBACKEND_MemoryManager *)&manager;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_BackendState(TRITONBACKEND_Backend *b, void **state) {
	TRT_CHECK(b, TRT_BACKEND, "backend");
	*state = __atomic_load_n(&b->state, __ATOMIC_ACQUIRE);
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_BackendSetState(TRITONBACKEND_Backend *b, void *state) {
	TRT_CHECK(b, TRT_BACKEND, "backend");
	__atomic_store_n(&b->state, state, __ATOMIC_RELEASE);
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_BackendAttributeAddPreferredInstanceGroup(TRITONBACKEND_BackendAttribute *a,
	const TRITONSERVER_InstanceGroupKind kind, const uint64_t count, const uint64_t *devices, const uint64_t device_count) {
	TRT_CHECK(a, TRT_ATTRIBUTE, "attribute");
	trt_group *g = calloc(1, sizeof(*g));
	uint64_t *copy = devices == NULL || device_count == 0 ? NULL : calloc(device_count, sizeof(*copy));
	if (g == NULL || (copy == NULL && devices != NULL && device_count > 0)) {
		free(copy);
		free(g);
		return trt_fail(TRITONSERVER_ERROR_UNAVAILABLE, "no memory for a preferred instance group of %llu devices",
			(unsigned long long)device_count);
	}
	g->kind = kind;
	g->count = count;
	if (copy != NULL) {
		g->device_count = device_count;
		g->devices = memcpy(copy, devices, device_count * sizeof(*devices));
	}
	*a->last = g;
	a->last = &g->next;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_BackendAttributeSetParallelModelInstanceLoading(TRITONBACKEND_BackendAttribute *a, bool enabled) {
	TRT_CHECK(a, TRT_ATTRIBUTE, "attribute");
	a->parallel = enabled;
	return NULL;
}

void trt_attribute_clear(TRITONBACKEND_BackendAttribute *a) {
	for (trt_group *g = a->first; g != NULL;) {
		trt_group *next = g->next;
		free(g->devices);
		free(g);
		g = next;
	}
	a->first = NULL;
	a->kind = TRT_FREED;
}
