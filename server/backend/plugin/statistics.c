//go:build cgo && linux

// The times that backends report. The server measures requests and responses itself; it
// takes from a report when the computation of a batch began and ended, and which responses
// of a decoupled model exist in the statistics only.

#include <stdio.h>
#include <stdlib.h>

#include "host.h"

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceReportStatistics(TRITONBACKEND_ModelInstance *i, TRITONBACKEND_Request *r,
	const bool success, const uint64_t begin, const uint64_t compute_begin, const uint64_t compute_end, const uint64_t end) {
	TRT_CHECK(i, TRT_INSTANCE, "instance");
	TRT_CHECK(r, TRT_REQUEST, "request");
	if (trt_in_call(r) && i->times.batch == 0) {
		i->times = (trt_times){i->times.reports + 1, 0, begin, compute_begin, compute_end, end};
	}
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceReportBatchStatistics(TRITONBACKEND_ModelInstance *i, const uint64_t batch,
	const uint64_t begin, const uint64_t compute_begin, const uint64_t compute_end, const uint64_t end) {
	TRT_CHECK(i, TRT_INSTANCE, "instance");
	i->times = (trt_times){i->times.reports + 1, batch, begin, compute_begin, compute_end, end};
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceResponseStatisticsNew(TRITONBACKEND_ModelInstanceResponseStatistics **s) {
	TRT_NEED(s);
	*s = calloc(1, sizeof(**s));
	if (*s == NULL) {
		return trt_fail(TRITONSERVER_ERROR_UNAVAILABLE, "%s: no memory", __func__);
	}
	(*s)->kind = TRT_TIMES;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceResponseStatisticsDelete(TRITONBACKEND_ModelInstanceResponseStatistics *s) {
	TRT_CHECK(s, TRT_TIMES, "record");
	s->kind = TRT_FREED;
	trt_discard(s);
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceResponseStatisticsSetModelInstance(
	TRITONBACKEND_ModelInstanceResponseStatistics *s, TRITONBACKEND_ModelInstance *i) {
	TRT_CHECK(s, TRT_TIMES, "record");
	s->instance = i;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseFactory(
	TRITONBACKEND_ModelInstanceResponseStatistics *s, TRITONBACKEND_ResponseFactory *f) {
	TRT_CHECK(s, TRT_TIMES, "record");
	s->factory = f;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseStart(
	TRITONBACKEND_ModelInstanceResponseStatistics *s, uint64_t at) {
	TRT_CHECK(s, TRT_TIMES, "record");
	s->begin = at;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceResponseStatisticsSetComputeOutputStart(
	TRITONBACKEND_ModelInstanceResponseStatistics *s, uint64_t at) {
	TRT_CHECK(s, TRT_TIMES, "record");
	s->output = at;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceResponseStatisticsSetResponseEnd(
	TRITONBACKEND_ModelInstanceResponseStatistics *s, uint64_t at) {
	TRT_CHECK(s, TRT_TIMES, "record");
	s->end = at;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceResponseStatisticsSetError(
	TRITONBACKEND_ModelInstanceResponseStatistics *s, TRITONSERVER_Error *error) {
	TRT_CHECK(s, TRT_TIMES, "record");
	s->failed = error != NULL;
	if (s->failed) {
		s->error_code = TRITONSERVER_ErrorCode(error);
		snprintf(s->error, sizeof(s->error), "%s", TRITONSERVER_ErrorMessage(error));
	}
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceReportResponseStatistics(TRITONBACKEND_ModelInstanceResponseStatistics *s) {
	TRT_CHECK(s, TRT_TIMES, "record");
	TRT_CHECK(s->instance, TRT_INSTANCE, "instance of the record");
	TRT_CHECK(s->factory, TRT_FACTORY, "factory of the record");
	trt_go_report(s->factory->request, s);
	return NULL;
}
