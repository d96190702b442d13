// Custom batching functions for tests: a request joins a batch if its first number is the
// number of requests that the batch has. They log what is called.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "triton/core/tritonbackend.h"

#define EXPORT __attribute__((visibility("default")))

static void say(const char *text) { TRITONSERVER_LogMessage(TRITONSERVER_LOG_INFO, __FILE__, __LINE__, text); }

EXPORT TRITONSERVER_Error *TRITONBACKEND_ModelBatcherInitialize(TRITONBACKEND_Batcher **b, TRITONBACKEND_Model *m) {
	const char *name;
	TRITONSERVER_Error *err = TRITONBACKEND_ModelName(m, &name);
	*b = (TRITONBACKEND_Batcher *)malloc(1);
	say("a batcher begins");
	return err;
}

#ifndef PARTIAL
EXPORT TRITONSERVER_Error *TRITONBACKEND_ModelBatcherFinalize(TRITONBACKEND_Batcher *b) {
	free(b);
	say("a batcher ends");
	return NULL;
}
#endif

EXPORT TRITONSERVER_Error *TRITONBACKEND_ModelBatchInitialize(const TRITONBACKEND_Batcher *b, void **user) {
	*user = calloc(1, sizeof(int));
	return NULL;
}

EXPORT TRITONSERVER_Error *TRITONBACKEND_ModelBatchIncludeRequest(TRITONBACKEND_Request *r, void *user, bool *include) {
	TRITONBACKEND_Input *in;
	const void *base;
	uint64_t size;
	TRITONSERVER_MemoryType type;
	int64_t id;
	TRITONSERVER_Error *err = TRITONBACKEND_RequestInput(r, "IN", &in);
	if (err == NULL) {
		err = TRITONBACKEND_InputBuffer(in, 0, &base, &size, &type, &id);
	}
	if (err == NULL) {
		*include = *(const int32_t *)base == (*(int *)user)++;
	}
	return err;
}

EXPORT TRITONSERVER_Error *TRITONBACKEND_ModelBatchFinalize(void *user) {
	free(user);
	return NULL;
}
