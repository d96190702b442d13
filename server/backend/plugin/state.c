//go:build cgo && linux

// States of sequences.

#include <stdlib.h>
#include <string.h>

#include "host.h"

TRITONSERVER_Error *TRITONBACKEND_StateNew(TRITONBACKEND_State **state, TRITONBACKEND_Request *r, const char *name,
	const TRITONSERVER_DataType datatype, const int64_t *shape, const uint32_t dims) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	*state = NULL;
	TRT_NEED(name);
	if (dims > TRT_MAX_DIMS || (dims > 0 && shape == NULL)) {
		return trt_fail(TRITONSERVER_ERROR_INVALID_ARG, "%s: state '%s' has %u dimensions, and no more than %d are possible, or no shape",
			__func__, name, dims, TRT_MAX_DIMS);
	}
	TRITONBACKEND_Model *m = r->instance->model;
	if (m->states.count == 0) {
		return trt_fail(TRITONSERVER_ERROR_INVALID_ARG,
			"[request id: %s] unable to add state '%s'. State configuration is missing for model '%s'.", trt_tag(r), name, m->name);
	}
	for (uint32_t i = 0; i < m->states.count; i++) {
		if (strcmp(m->states.names[i], name) != 0) {
			continue;
		}
		TRITONBACKEND_State *s = calloc(1, sizeof(*s) + dims * sizeof(*shape));
		if (s == NULL) {
			return trt_fail(TRITONSERVER_ERROR_UNAVAILABLE, "%s: no memory", __func__);
		}
		s->kind = TRT_STATE;
		s->datatype = datatype;
		s->request = r;
		s->index = i;
		s->dims = dims;
		s->shape = (int64_t *)(s + 1);
		if (dims > 0) {
			memcpy(s->shape, shape, dims * sizeof(*shape));
		}
		s->next = r->states;
		r->states = s;
		*state = s;
		return NULL;
	}
	return trt_fail(TRITONSERVER_ERROR_INVALID_ARG, "[request id: %s] state '%s' is not a valid state name.", trt_tag(r), name);
}

TRITONSERVER_Error *TRITONBACKEND_StateBuffer(TRITONBACKEND_State *s, void **buffer, const uint64_t size,
	TRITONSERVER_MemoryType *type, int64_t *id) {
	TRT_CHECK(s, TRT_STATE, "state");
	if (s->slot == 0 || s->size != size) {
		TRITONSERVER_Error *err = trt_go_state_buffer(s->request, s, size);
		if (err != NULL) {
			*buffer = NULL;
			return err;
		}
		s->size = size;
	}
	*buffer = s->base;
	*type = TRITONSERVER_MEMORY_CPU;
	*id = 0;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_StateBufferAttributes(TRITONBACKEND_State *s, TRITONSERVER_BufferAttributes **to) {
	TRT_CHECK(s, TRT_STATE, "state");
	TRITONSERVER_Error *err = trt_attributes(&s->attributes, s->size);
	*to = s->attributes;
	return err;
}

TRITONSERVER_Error *TRITONBACKEND_StateUpdate(TRITONBACKEND_State *s) {
	TRT_CHECK(s, TRT_STATE, "state");
	return trt_go_state_update(s->request, s);
}

