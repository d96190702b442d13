// A trace that the server gives to a backend. The argument is its address.
#include "check.h"

static void use(TRITONSERVER_InferenceTrace* trace) {
  TRITONSERVER_InferenceTrace* child = NULL;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  uint64_t ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  OK(TRITONSERVER_InferenceTraceReportActivity(trace, ns, "first"));
  OK(TRITONSERVER_InferenceTraceSpawnChildTrace(trace, &child));
  CHECK(child != NULL);
  OK(TRITONSERVER_InferenceTraceReportActivity(child, ns, "of the child"));
  OK(TRITONSERVER_InferenceTraceDelete(child));
  OK(TRITONSERVER_InferenceTraceSpawnChildTrace(trace, &child));  // the server makes no second one
  CHECK(child == NULL);
}

char* run(const char* argument) {
  TRITONSERVER_InferenceTrace* trace = NULL;
  if (sscanf(argument, "%p", (void**)&trace) != 1) {
    return strdup("no trace");
  }
  STEP(use(trace));
  return NULL;
}
