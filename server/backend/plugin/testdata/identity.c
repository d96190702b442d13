// The identity backend as public backends are written: it copies the inputs and reports its times.

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "triton/core/tritonbackend.h"

static uint64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

__attribute__((visibility("default"))) TRITONSERVER_Error *TRITONBACKEND_ModelInstanceExecute(
	TRITONBACKEND_ModelInstance *i, TRITONBACKEND_Request **all, const uint32_t count) {
	uint64_t begin = now(), first = 0, last = 0;
	for (uint32_t k = 0; k < count; k++) {
		TRITONBACKEND_Request *r = all[k];
		TRITONBACKEND_Response *p;
		TRITONBACKEND_Input *in;
		TRITONBACKEND_Output *out;
		const char *id, *name, *wanted;
		uint64_t correlation, size, n;
		uint32_t inputs, outputs, dims, buffers;
		TRITONSERVER_DataType type;
		const int64_t *shape;
		uint64_t start = now();
		TRITONBACKEND_RequestId(r, &id);
		TRITONBACKEND_RequestCorrelationId(r, &correlation);
		TRITONBACKEND_RequestInputCount(r, &inputs);
		TRITONBACKEND_RequestOutputCount(r, &outputs);
		TRITONBACKEND_RequestInputName(r, 0, &name);
		TRITONBACKEND_RequestInput(r, name, &in);
		TRITONBACKEND_RequestOutputName(r, 0, &wanted);
		TRITONBACKEND_InputProperties(in, &name, &type, &shape, &dims, &size, &buffers);
		TRITONBACKEND_ResponseNew(&p, r);
		TRITONBACKEND_ResponseOutput(p, &out, wanted, type, shape, dims);
		char *to;
		TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
		int64_t device = 0;
		TRITONBACKEND_OutputBuffer(out, (void **)&to, size, &memory, &device);
		for (uint32_t b = 0; b < buffers; b++) {
			const void *from;
			TRITONBACKEND_InputBuffer(in, b, &from, &n, &memory, &device);
			memcpy(to, from, n);
			to += n;
		}
		TRITONBACKEND_ResponseSetStringParameter(p, "param0", "an example string parameter");
		TRITONBACKEND_ResponseSetIntParameter(p, "param1", 42);
		TRITONBACKEND_ResponseSetBoolParameter(p, "param2", false);
		TRITONBACKEND_ResponseSetDoubleParameter(p, "param3", 123.123);
		last = now();
		if (first == 0) {
			first = start;
		}
		TRITONBACKEND_ResponseSend(p, TRITONSERVER_RESPONSE_COMPLETE_FINAL, NULL);
		TRITONBACKEND_ModelInstanceReportStatistics(i, r, true, begin, start, last, now());
		TRITONBACKEND_RequestRelease(r, TRITONSERVER_REQUEST_RELEASE_ALL);
	}
	return TRITONBACKEND_ModelInstanceReportBatchStatistics(i, count, begin, first, last, now());
}
