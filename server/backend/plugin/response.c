//go:build cgo && linux

// Responses and their outputs.

#include <stdlib.h>
#include <string.h>

#include "host.h"

static void *reserve(TRITONBACKEND_Response *p, size_t n) {
	n = (n + 15) & ~(size_t)15;
	if (n <= TRT_INLINE - p->used) {
		void *at = p->bytes + p->used;
		p->used += n;
		return at;
	}
	trt_block *b = p->blocks;
	if (b == NULL || b->size - b->used < n) {
		size_t size = n > 4096 ? n : 4096;
		b = malloc(sizeof(*b) + size);
		if (b == NULL) {
			return NULL;
		}
		b->size = size;
		b->used = 0;
		b->next = p->blocks;
		p->blocks = b;
	}
	void *at = b->bytes + b->used;
	b->used += n;
	return at;
}

static char *copy_text(TRITONBACKEND_Response *p, const char *text) {
	size_t n = strlen(text) + 1;
	char *to = reserve(p, n);
	return to == NULL ? NULL : memcpy(to, text, n);
}

static TRITONSERVER_Error *no_memory(const char *function) {
	return trt_fail(TRITONSERVER_ERROR_UNAVAILABLE, "%s: no memory", function);
}

static TRITONSERVER_Error *new_response(TRITONBACKEND_Response **to, TRITONBACKEND_Request *r) {
	TRITONBACKEND_Response *p = &r->embedded;
	bool free_slot = false;
	bool embedded = __atomic_compare_exchange_n(&r->embedded_in_use, &free_slot, true, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	if (!embedded) {
		p = malloc(sizeof(*p));
		if (p == NULL) {
			return no_memory(__func__);
		}
	}
	memset(p, 0, offsetof(TRITONBACKEND_Response, bytes));
	p->kind = TRT_RESPONSE;
	p->embedded = embedded;
	p->request = r;
	p->last = &p->first;
	p->last_parameter = &p->first_parameter;
	__atomic_add_fetch(&r->refs, 1, __ATOMIC_RELAXED);
	*to = p;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ResponseNew(TRITONBACKEND_Response **response, TRITONBACKEND_Request *r) {
	TRT_CHECK(r, TRT_REQUEST, "request");
	return new_response(response, r);
}

TRITONSERVER_Error *TRITONBACKEND_ResponseNewFromFactory(TRITONBACKEND_Response **response, TRITONBACKEND_ResponseFactory *f) {
	TRT_CHECK(f, TRT_FACTORY, "factory");
	return new_response(response, f->request);
}

void trt_response_free(TRITONBACKEND_Response *p) {
	TRITONBACKEND_Request *r = p->request;
	p->kind = TRT_FREED;
	for (TRITONBACKEND_Output *o = p->first; o != NULL; o = o->next) {
		o->kind = TRT_FREED;
		if (o->attributes != NULL) {
			TRITONSERVER_BufferAttributesDelete(o->attributes);
		}
		if (o->slot != 0) {
			trt_go_drop(r, o->slot);
		}
	}
	for (trt_block *b = p->blocks; b != NULL;) {
		trt_block *next = b->next;
		free(b);
		b = next;
	}
	if (!p->embedded) {
		trt_discard(p);
	}
}

TRITONSERVER_Error *TRITONBACKEND_ResponseDelete(TRITONBACKEND_Response *p) {
	TRT_CHECK(p, TRT_RESPONSE, "response");
	TRITONBACKEND_Request *r = p->request;
	trt_response_free(p);
	trt_unref(r);
	return NULL;
}

static TRITONSERVER_Error *set_parameter(const char *function, TRITONBACKEND_Response *p, const char *name, TRITONSERVER_ParameterType type,
	const char *text, int64_t number, double real) {
	if (p == NULL) {
		return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, "response was nullptr");
	}
	if (p->kind != TRT_RESPONSE) {
		return trt_fail(TRITONSERVER_ERROR_INVALID_ARG, "%s: the response was freed, or is another object", function);
	}
	if (name == NULL || (type == TRITONSERVER_PARAMETER_STRING && text == NULL)) {
		return trt_fail(TRITONSERVER_ERROR_INVALID_ARG, "%s: name or value is null", function);
	}
	trt_reply_parameter *q = reserve(p, sizeof(*q));
	if (q == NULL) {
		return no_memory(function);
	}
	q->next = NULL;
	q->name = copy_text(p, name);
	q->text = text == NULL ? NULL : copy_text(p, text);
	q->type = type;
	q->number = number;
	q->real = real;
	*p->last_parameter = q;
	p->last_parameter = &q->next;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ResponseSetStringParameter(TRITONBACKEND_Response *p, const char *name, const char *value) {
	return set_parameter(__func__, p, name, TRITONSERVER_PARAMETER_STRING, value, 0, 0);
}

TRITONSERVER_Error *TRITONBACKEND_ResponseSetIntParameter(TRITONBACKEND_Response *p, const char *name, const int64_t value) {
	return set_parameter(__func__, p, name, TRITONSERVER_PARAMETER_INT, NULL, value, 0);
}

TRITONSERVER_Error *TRITONBACKEND_ResponseSetBoolParameter(TRITONBACKEND_Response *p, const char *name, const bool value) {
	return set_parameter(__func__, p, name, TRITONSERVER_PARAMETER_BOOL, NULL, value, 0);
}

TRITONSERVER_Error *TRITONBACKEND_ResponseSetDoubleParameter(TRITONBACKEND_Response *p, const char *name, const double value) {
	return set_parameter(__func__, p, name, TRITONSERVER_PARAMETER_DOUBLE, NULL, 0, value);
}

TRITONSERVER_Error *TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response *p, TRITONBACKEND_Output **output, const char *name,
	const TRITONSERVER_DataType datatype, const int64_t *shape, const uint32_t dims) {
	if (p == NULL) {
		return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, "response was nullptr");
	}
	TRT_CHECK(p, TRT_RESPONSE, "response");
	TRT_NEED(output);
	TRT_NEED(name);
	if (dims > TRT_MAX_DIMS || (dims > 0 && shape == NULL)) {
		return trt_fail(TRITONSERVER_ERROR_INVALID_ARG, "%s: output '%s' has %u dimensions, and no more than %d are possible, or no shape",
			__func__, name, dims, TRT_MAX_DIMS);
	}
	TRITONBACKEND_Model *m = p->request->instance->model;
	for (uint32_t i = 0; i < m->outputs.count; i++) {
		if (strcmp(m->outputs.names[i], name) != 0) {
			continue;
		}
		TRITONBACKEND_Output *o = reserve(p, sizeof(*o) + dims * sizeof(*shape));
		if (o == NULL) {
			return no_memory(__func__);
		}
		memset(o, 0, sizeof(*o));
		o->kind = TRT_OUTPUT;
		o->datatype = datatype;
		o->response = p;
		o->name = m->outputs.names[i];
		o->index = i;
		o->dims = dims;
		o->shape = (int64_t *)(o + 1);
		if (dims > 0) {
			memcpy(o->shape, shape, dims * sizeof(*shape));
		}
		if (m->decoupled && p->output_begin == 0) {
			p->output_begin = trt_clock();
		}
		*p->last = o;
		p->last = &o->next;
		p->output_count++;
		*output = o;
		return NULL;
	}
	*output = NULL;
	return trt_fail(TRITONSERVER_ERROR_INVALID_ARG, "unexpected inference output '%s' for model '%s'", name, m->name);
}

// placed reports whether the client wants an output in memory of its own.
static bool placed(TRITONBACKEND_Request *r, const char *name) {
	for (uint32_t i = 0; i < r->output_count; i++) {
		if (r->outputs[i].placed && strcmp(r->outputs[i].name, name) == 0) {
			return true;
		}
	}
	return false;
}

enum { TRT_ALIGN = 64 };

// carve returns a part of the request's memory for outputs; null if too little is left. Threads of
// the backend may build several responses to a request at the same time.
static void *carve(TRITONBACKEND_Request *r, uint64_t size) {
	uint64_t used = __atomic_load_n(&r->memory_used, __ATOMIC_RELAXED), at;
	do {
		at = (used + TRT_ALIGN - 1) & ~(uint64_t)(TRT_ALIGN - 1);
		if (r->memory == NULL || at > r->memory_size || size > r->memory_size - at) {
			return NULL;
		}
	} while (!__atomic_compare_exchange_n(&r->memory_used, &used, at + size, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return r->memory + at;
}

TRITONSERVER_Error *TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output *o, void **buffer, const uint64_t size,
	TRITONSERVER_MemoryType *type, int64_t *id) {
	TRT_CHECK(o, TRT_OUTPUT, "output");
	TRT_NEED(buffer);
	*buffer = NULL;
	if (o->allocated) {
		return trt_fail(TRITONSERVER_ERROR_ALREADY_EXISTS, "allocated buffer for output '%s' already exists", o->name);
	}
	TRITONBACKEND_Request *r = o->response->request;
	o->base = placed(r, o->name) ? NULL : carve(r, size);
	if (o->base == NULL) {
		TRITONSERVER_Error *err = trt_go_output(r, o, size);
		if (err != NULL) {
			return err;
		}
	}
	o->allocated = true;
	o->size = size;
	*buffer = o->base;
	*type = TRITONSERVER_MEMORY_CPU;
	*id = 0;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_OutputBufferAttributes(TRITONBACKEND_Output *o, TRITONSERVER_BufferAttributes **to) {
	TRT_CHECK(o, TRT_OUTPUT, "output");
	TRITONSERVER_Error *err = trt_attributes(&o->attributes, o->size);
	*to = o->attributes;
	return err;
}

TRITONSERVER_Error *TRITONBACKEND_ResponseSend(TRITONBACKEND_Response *p, const uint32_t flags, TRITONSERVER_Error *error) {
	TRT_CHECK(p, TRT_RESPONSE, "response");
	TRITONBACKEND_Request *r = p->request;
	p->kind = TRT_FREED; // for the backend
	if (error != NULL) {
		p->failed = true;
		p->error_code = TRITONSERVER_ErrorCode(error);
		p->error = copy_text(p, TRITONSERVER_ErrorMessage(error));
	}
	bool final = (flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) != 0;
	if (final && r->sent == NULL && trt_in_call(r) && !r->instance->model->decoupled) {
		r->sent = p; // keeps its reference
		return NULL;
	}
	trt_go_send(r, p, final);
	trt_response_free(p);
	trt_unref(r);
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_InferenceResponseOutput(TRITONBACKEND_Response *p, const uint32_t index, const char **name,
	TRITONSERVER_DataType *datatype, const int64_t **shape, uint64_t *dims) {
	TRT_CHECK(p, TRT_RESPONSE, "response");
	if (index >= p->output_count) {
		return trt_fail(TRITONSERVER_ERROR_INVALID_ARG, "out of bounds index %u, response has %u outputs", index, p->output_count);
	}
	TRITONBACKEND_Output *o = p->first;
	for (uint32_t i = 0; i < index; i++) {
		o = o->next;
	}
	*name = o->name;
	*datatype = o->datatype;
	*shape = o->shape;
	*dims = o->dims;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_InferenceResponseOutputByName(TRITONBACKEND_Response *p, const char *name,
	TRITONSERVER_DataType *datatype, const int64_t **shape, uint64_t *dims) {
	TRT_CHECK(p, TRT_RESPONSE, "response");
	for (TRITONBACKEND_Output *o = p->first; o != NULL; o = o->next) {
		if (strcmp(o->name, name) == 0) {
			*datatype = o->datatype;
			*shape = o->shape;
			*dims = o->dims;
			return NULL;
		}
	}
	return trt_fail(TRITONSERVER_ERROR_NOT_FOUND, "Output name %snot found.", name);
}

