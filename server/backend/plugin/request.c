//go:build cgo && linux

// Requests and their inputs.

#include <stdlib.h>
#include <string.h>

#include "host.h"

// executing is the instance whose execution runs on this thread.
static _Thread_local TRITONBACKEND_ModelInstance *executing;

TRITONSERVER_Error *trt_execute(void *entry, TRITONBACKEND_ModelInstance *i, TRITONBACKEND_Request **requests, uint32_t count) {
	TRITONBACKEND_ModelInstance *outer = executing; // a model may run another one in its execution
	executing = i;
	TRITONSERVER_Error *err =
		((TRITONSERVER_Error * (*)(TRITONBACKEND_ModelInstance *, TRITONBACKEND_Request **, uint32_t)) entry)(i, requests, count);
	executing = outer;
	return err;
}

// in_call reports whether this thread executes the request.
bool trt_in_call(TRITONBACKEND_Request *r) {
	return executing != NULL && r->call == executing;
}

void trt_unref(TRITONBACKEND_Request *r) {
	if (__atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL) == 0) {
		trt_go_unused(r);
	}
}

const char *trt_tag(TRITONBACKEND_Request *r) { return r->id[0] == '\0' ? "<id_unknown>" : r->id; }

// attributes makes the description of a buffer.
TRITONSERVER_Error *trt_attributes(TRITONSERVER_BufferAttributes **to, uint64_t size) {
	if (*to != NULL) {
		return NULL;
	}
	TRITONSERVER_Error *err = TRITONSERVER_BufferAttributesNew(to);
	if (err == NULL) {
		err = TRITONSERVER_BufferAttributesSetMemoryType(*to, TRITONSERVER_MEMORY_CPU);
	}
	if (err == NULL) {
		err = TRITONSERVER_BufferAttributesSetMemoryTypeId(*to, 0);
	}
	if (err == NULL) {
		err = TRITONSERVER_BufferAttributesSetByteSize(*to, size);
	}
	return err;
}

TRITONSERVER_Error *TRITONBACKEND_RequestId(TRITONBACKEND_Request *r, const char **id) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	*id = r->id;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_RequestIsCancelled(TRITONBACKEND_Request *r, bool *cancelled) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	*cancelled = trt_go_cancelled(r);
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_RequestCorrelationId(TRITONBACKEND_Request *r, uint64_t *id) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	if (r->correlation_text != NULL) {
		return trt_fail(TRITONSERVER_ERROR_INVALID_ARG, "[request id: %s] correlation ID in request is not an unsigned int", trt_tag(r));
	}
	*id = r->correlation;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_RequestCorrelationIdString(TRITONBACKEND_Request *r, const char **id) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	if (r->correlation_text == NULL) {
		return trt_fail(TRITONSERVER_ERROR_INVALID_ARG, "[request id: %s] correlation ID in request is not a string", trt_tag(r));
	}
	*id = r->correlation_text;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_InferenceRequestTimeoutMicroseconds(TRITONBACKEND_Request *r, uint64_t *timeout) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	*timeout = r->timeout;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_RequestFlags(TRITONBACKEND_Request *r, uint32_t *flags) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	*flags = r->flags;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_RequestParameterCount(TRITONBACKEND_Request *r, uint32_t *count) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	*count = r->parameter_count;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_RequestParameter(TRITONBACKEND_Request *r, const uint32_t index, const char **key,
	TRITONSERVER_ParameterType *type, const void **value) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	if (index >= r->parameter_count) {
		return trt_fail(TRITONSERVER_ERROR_INVALID_ARG, "[request id: %s] out of bounds index %u: request has %u parameters",
			trt_tag(r), index, r->parameter_count);
	}
	const trt_parameter *p = &r->parameters[index];
	*key = p->key;
	*type = p->type;
	*value = p->value;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_RequestInputCount(TRITONBACKEND_Request *r, uint32_t *count) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	*count = r->input_count;
	return NULL;
}

static TRITONSERVER_Error *check_input(TRITONBACKEND_Request *r, uint32_t index) {
	if (index >= r->input_count) {
		return trt_fail(TRITONSERVER_ERROR_INVALID_ARG, "[request id: %s] out of bounds index %u: request has %u inputs",
			trt_tag(r), index, r->input_count);
	}
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_RequestInputName(TRITONBACKEND_Request *r, const uint32_t index, const char **name) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	*name = NULL;
	TRITONSERVER_Error *err = check_input(r, index);
	if (err == NULL) {
		*name = r->inputs[index].name;
	}
	return err;
}

TRITONSERVER_Error *TRITONBACKEND_RequestInput(TRITONBACKEND_Request *r, const char *name, TRITONBACKEND_Input **input) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	TRT_NEED(name);
	for (uint32_t i = 0; i < r->input_count; i++) {
		if (strcmp(r->inputs[i].name, name) == 0) {
			*input = &r->inputs[i];
			return NULL;
		}
	}
	*input = NULL;
	return trt_fail(TRITONSERVER_ERROR_INVALID_ARG, "[request id: %s] unknown request input name %s", trt_tag(r), name);
}

TRITONSERVER_Error *TRITONBACKEND_RequestInputByIndex(TRITONBACKEND_Request *r, const uint32_t index, TRITONBACKEND_Input **input) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	*input = NULL;
	TRITONSERVER_Error *err = check_input(r, index);
	if (err == NULL) {
		*input = &r->inputs[index];
	}
	return err;
}

TRITONSERVER_Error *TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request *r, uint32_t *count) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	*count = r->output_count;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request *r, const uint32_t index, const char **name) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	*name = NULL;
	if (index >= r->output_count) {
		return trt_fail(TRITONSERVER_ERROR_INVALID_ARG, "[request id: %s] out of bounds index %u: request has %u requested outputs",
			trt_tag(r), index, r->output_count);
	}
	*name = r->outputs[index].name;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_RequestOutputBufferProperties(TRITONBACKEND_Request *r, const char *name, size_t *size,
	TRITONSERVER_MemoryType *type, int64_t *id) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	*type = TRITONSERVER_MEMORY_CPU;
	*id = 0;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_RequestTrace(TRITONBACKEND_Request *r, TRITONSERVER_InferenceTrace **trace) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	*trace = r->trace_made ? r->trace : trt_go_trace(r);
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_RequestRelease(TRITONBACKEND_Request *r, uint32_t flags) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	if ((flags & TRITONSERVER_REQUEST_RELEASE_RESCHEDULE) != 0) {
		TRITONSERVER_Error *err = trt_go_release(r, true);
		if (err == NULL) {
			trt_unref(r);
		}
		return err;
	}
	// From here on no function takes the request.
	int alive = TRT_REQUEST;
	if (!__atomic_compare_exchange_n((int *)&r->kind, &alive, TRT_FREED, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		return trt_fail(TRITONSERVER_ERROR_INVALID_ARG, "%s: the request was released twice", __func__);
	}
	if (trt_in_call(r)) {
		r->released = true;
		return NULL;
	}
	TRITONSERVER_Error *err = trt_go_release(r, false);
	trt_unref(r);
	return err;
}

TRITONSERVER_Error *TRITONBACKEND_InputProperties(TRITONBACKEND_Input *in, const char **name, TRITONSERVER_DataType *datatype,
	const int64_t **shape, uint32_t *dims, uint64_t *size, uint32_t *buffers) {
	TRT_CHECK(in, TRT_INPUT, "input");
	if (name != NULL) {
		*name = in->name;
	}
	if (datatype != NULL) {
		*datatype = in->datatype;
	}
	if (shape != NULL) {
		*shape = in->shape;
	}
	if (dims != NULL) {
		*dims = in->dims;
	}
	if (size != NULL) {
		*size = in->size;
	}
	if (buffers != NULL) {
		*buffers = in->buffer_count;
	}
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_InputPropertiesForHostPolicy(TRITONBACKEND_Input *in, const char *policy, const char **name,
	TRITONSERVER_DataType *datatype, const int64_t **shape, uint32_t *dims, uint64_t *size, uint32_t *buffers) {
	return TRITONBACKEND_InputProperties(in, name, datatype, shape, dims, size, buffers);
}

static TRITONSERVER_Error *check_buffer(TRITONBACKEND_Input *in, uint32_t index) {
	if (index >= in->buffer_count) {
		return trt_fail(TRITONSERVER_ERROR_INVALID_ARG, "out of bounds index %u: input '%s' has %u buffers", index, in->name, in->buffer_count);
	}
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_InputBuffer(TRITONBACKEND_Input *in, const uint32_t index, const void **base, uint64_t *size,
	TRITONSERVER_MemoryType *type, int64_t *id) {
	TRT_CHECK(in, TRT_INPUT, "input");
	*base = NULL;
	*size = 0;
	if (in->size == 0 && index == 0) { // backends read the first buffer of an input without bytes
		*type = TRITONSERVER_MEMORY_CPU;
		*id = 0;
		return NULL;
	}
	TRITONSERVER_Error *err = check_buffer(in, index);
	if (err != NULL) {
		return err;
	}
	*base = in->buffers[index].base;
	*size = in->buffers[index].size;
	*type = TRITONSERVER_MEMORY_CPU;
	*id = 0;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_InputBufferForHostPolicy(TRITONBACKEND_Input *in, const char *policy, const uint32_t index,
	const void **base, uint64_t *size, TRITONSERVER_MemoryType *type, int64_t *id) {
	return TRITONBACKEND_InputBuffer(in, index, base, size, type, id);
}

TRITONSERVER_Error *TRITONBACKEND_InputBufferAttributes(TRITONBACKEND_Input *in, const uint32_t index, const void **base,
	TRITONSERVER_BufferAttributes **to) {
	TRT_CHECK(in, TRT_INPUT, "input");
	TRITONSERVER_Error *err = in->size == 0 && index == 0 ? NULL : check_buffer(in, index);
	if (err == NULL) {
		err = trt_attributes(&in->buffers[index].attributes, in->buffers[index].size);
	}
	if (err != NULL) {
		return err;
	}
	in->request->attributed = true;
	*base = in->buffers[index].base;
	*to = in->buffers[index].attributes;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ResponseFactoryNew(TRITONBACKEND_ResponseFactory **factory, TRITONBACKEND_Request *r) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	TRT_NEED(factory);
	TRITONBACKEND_ResponseFactory *f = malloc(sizeof(*f));
	if (f == NULL) {
		return trt_fail(TRITONSERVER_ERROR_UNAVAILABLE, "%s: no memory", __func__);
	}
	f->kind = TRT_FACTORY;
	f->request = r;
	__atomic_add_fetch(&r->refs, 1, __ATOMIC_RELAXED);
	*factory = f;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ResponseFactoryDelete(TRITONBACKEND_ResponseFactory *f) {
	TRT_CHECK(f, TRT_FACTORY, "factory");
	TRITONBACKEND_Request *r = f->request;
	f->kind = TRT_FREED;
	trt_discard(f);
	trt_unref(r);
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ResponseFactorySendFlags(TRITONBACKEND_ResponseFactory *f, const uint32_t flags) {
	TRT_CHECK(f, TRT_FACTORY, "factory");
	if ((flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) != 0) {
		trt_go_send(f->request, NULL, true);
	}
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ResponseFactoryIsCancelled(TRITONBACKEND_ResponseFactory *f, bool *cancelled) {
	TRT_CHECK(f, TRT_FACTORY, "factory");
	*cancelled = trt_go_cancelled(f->request);
	return NULL;
}

void trt_request_clear(TRITONBACKEND_Request *r) {
	for (uint32_t i = 0; i < r->input_count; i++) {
		for (uint32_t k = 0; k == 0 || k < r->inputs[i].buffer_count; k++) {
			if (r->inputs[i].buffers[k].attributes != NULL) {
				TRITONSERVER_BufferAttributesDelete(r->inputs[i].buffers[k].attributes);
				r->inputs[i].buffers[k].attributes = NULL;
			}
		}
	}
	for (TRITONBACKEND_State *s = r->states; s != NULL;) {
		TRITONBACKEND_State *next = s->next;
		s->kind = TRT_FREED;
		if (s->attributes != NULL) {
			TRITONSERVER_BufferAttributesDelete(s->attributes);
		}
		trt_discard(s);
		s = next;
	}
	r->states = NULL;
}
