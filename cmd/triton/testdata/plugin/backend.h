// What the backends of the tests share. A model has an input INPUT and an output OUTPUT,
// INT32 of any length. A request whose first element is 0 is echoed; another one makes the
// backend do what the parameter "fault" of the model names.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "triton/core/tritonbackend.h"

typedef struct {
	char fault[64];
	TRITONBACKEND_Model *model;
	TRITONBACKEND_ModelInstance *instance; // of the last execution
	TRITONBACKEND_Request *request;
	const int32_t *data;
	int64_t shape[1];
} test_call;

// note writes what a call of the API has returned to the log, where the test looks for it.
static inline void note(const char *what, TRITONSERVER_Error *err) {
	char line[1024];
	snprintf(line, sizeof line, "noted: %s: %s", what, err == NULL ? "accepted" : TRITONSERVER_ErrorMessage(err));
	TRITONSERVER_LogMessage(TRITONSERVER_LOG_INFO, __FILE__, __LINE__, line);
	if (err != NULL) {
		TRITONSERVER_ErrorDelete(err);
	}
}

// must ends the process: the test itself is wrong where it fails.
static inline void must(TRITONSERVER_Error *err) {
	if (err != NULL) {
		fprintf(stderr, "test backend: %s\n", TRITONSERVER_ErrorMessage(err));
		_Exit(77);
	}
}

static inline TRITONBACKEND_Response *response(test_call *c) {
	TRITONBACKEND_Response *p;
	must(TRITONBACKEND_ResponseNew(&p, c->request));
	return p;
}

// fill gives a response its output, an echo of the input.
static inline TRITONBACKEND_Response *fill(test_call *c, TRITONBACKEND_Response *p) {
	TRITONBACKEND_Output *o;
	must(TRITONBACKEND_ResponseOutput(p, &o, "OUTPUT", TRITONSERVER_TYPE_INT32, c->shape, 1));
	void *to;
	TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
	int64_t id = 0;
	uint64_t size = (uint64_t)c->shape[0] * sizeof(int32_t);
	must(TRITONBACKEND_OutputBuffer(o, &to, size, &type, &id));
	memcpy(to, c->data, size);
	return p;
}

static inline void answer(test_call *c) {
	must(TRITONBACKEND_ResponseSend(fill(c, response(c)), TRITONSERVER_RESPONSE_COMPLETE_FINAL, NULL));
}

static inline void finish(test_call *c) { must(TRITONBACKEND_RequestRelease(c->request, TRITONSERVER_REQUEST_RELEASE_ALL)); }

// setting copies a parameter of the model from its configuration.
static inline void setting(TRITONBACKEND_Model *m, const char *key, char *to, size_t room) {
	TRITONSERVER_Message *config;
	const char *json;
	size_t size;
	char mark[96];
	must(TRITONBACKEND_ModelConfig(m, 1, &config));
	must(TRITONSERVER_MessageSerializeToJson(config, &json, &size));
	snprintf(mark, sizeof mark, "\"%s\":{\"string_value\":\"", key);
	const char *at = strstr(json, mark);
	*to = '\0';
	if (at != NULL) {
		at += strlen(mark);
		snprintf(to, room, "%.*s", (int)strcspn(at, "\""), at);
	}
	must(TRITONSERVER_MessageDelete(config));
}

// run does what a model's fault names. The backend that includes this file defines it.
static TRITONSERVER_Error *run(test_call *c);

TRITONSERVER_Error *TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model *m) {
	test_call *c = calloc(1, sizeof *c);
	setting(m, "fault", c->fault, sizeof c->fault);
	c->model = m;
	must(TRITONBACKEND_ModelSetState(m, c));
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance *i, TRITONBACKEND_Request **requests, const uint32_t count) {
	TRITONBACKEND_Model *m;
	void *state;
	must(TRITONBACKEND_ModelInstanceModel(i, &m));
	must(TRITONBACKEND_ModelState(m, &state));
	for (uint32_t k = 0; k < count; k++) {
		test_call *c = state;
		TRITONBACKEND_Input *in;
		const void *data;
		uint64_t size;
		TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
		int64_t id = 0;
		const int64_t *shape;
		c->instance = i;
		c->request = requests[k];
		must(TRITONBACKEND_RequestInput(c->request, "INPUT", &in));
		must(TRITONBACKEND_InputProperties(in, NULL, NULL, &shape, NULL, NULL, NULL));
		must(TRITONBACKEND_InputBuffer(in, 0, &data, &size, &type, &id));
		c->data = data;
		c->shape[0] = shape[0];
		if (c->data[0] == 0) {
			answer(c);
			finish(c);
			continue;
		}
		TRITONSERVER_Error *err = run(c);
		if (err != NULL) {
			return err; // the tests send one request at a time
		}
	}
	return NULL;
}
