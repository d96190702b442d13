//go:build cgo && linux

#include "_cgo_export.h"
#include "value.h"

static atomic_uint_fast64_t last_trace;

static TRITONSERVER_InferenceTrace* new_trace(
    uint32_t level, uint64_t parent, TRITONSERVER_InferenceTraceActivityFn_t activity,
    TRITONSERVER_InferenceTraceTensorActivityFn_t tensor, TRITONSERVER_InferenceTraceReleaseFn_t release, void* userp) {
  TRITONSERVER_InferenceTrace* t = calloc(1, sizeof *t);
  if (t == NULL) {
    return NULL;
  }
  // The two old levels mean timestamps.
  if (level & (TRITONSERVER_TRACE_LEVEL_MIN | TRITONSERVER_TRACE_LEVEL_MAX)) {
    level = (level & ~(uint32_t)(TRITONSERVER_TRACE_LEVEL_MIN | TRITONSERVER_TRACE_LEVEL_MAX)) | TRITONSERVER_TRACE_LEVEL_TIMESTAMPS;
  }
  t->level = level;
  t->id = atomic_fetch_add(&last_trace, 1) + 1;
  t->parent = parent;
  t->activity = activity;
  t->tensor = tensor;
  t->release = release;
  t->userp = userp;
  pthread_mutex_init(&t->mutex, NULL);
  t->context = capi_copy("");
  t->model = capi_copy("");
  t->request = capi_copy("");
  return t;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceTraceTensorNew(
    TRITONSERVER_InferenceTrace** trace, TRITONSERVER_InferenceTraceLevel level, uint64_t parent_id,
    TRITONSERVER_InferenceTraceActivityFn_t activity_fn, TRITONSERVER_InferenceTraceTensorActivityFn_t tensor_activity_fn,
    TRITONSERVER_InferenceTraceReleaseFn_t release_fn, void* trace_userp) {
  CAPI_REQUIRE(trace);
  *trace = new_trace((uint32_t)level, parent_id, activity_fn, tensor_activity_fn, release_fn, trace_userp);
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceTraceNew(
    TRITONSERVER_InferenceTrace** trace, TRITONSERVER_InferenceTraceLevel level, uint64_t parent_id,
    TRITONSERVER_InferenceTraceActivityFn_t activity_fn, TRITONSERVER_InferenceTraceReleaseFn_t release_fn, void* trace_userp) {
  return TRITONSERVER_InferenceTraceTensorNew(trace, level, parent_id, activity_fn, NULL, release_fn, trace_userp);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceTraceDelete(TRITONSERVER_InferenceTrace* trace) {
  if (trace != NULL) {
    pthread_mutex_destroy(&trace->mutex);
    free(trace->context);
    free(trace->model);
    free(trace->request);
    free(trace);
  }
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceTraceSpawnChildTrace(
    TRITONSERVER_InferenceTrace* trace, TRITONSERVER_InferenceTrace** child_trace) {
  CAPI_REQUIRE(child_trace);
  *child_trace = trace == NULL ? NULL : new_trace(trace->level, trace->id, trace->activity, trace->tensor, trace->release, trace->userp);
  return NULL;
}

#define GETTER(name, type, field) \
  TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceTrace##name(TRITONSERVER_InferenceTrace* trace, type* value) { \
    CAPI_REQUIRE(trace); \
    CAPI_REQUIRE(value); \
    *value = trace->field; \
    return NULL; \
  }

GETTER(Id, uint64_t, id)
GETTER(ParentId, uint64_t, parent)
GETTER(ModelName, const char*, model)
GETTER(ModelVersion, int64_t, version)
GETTER(RequestId, const char*, request)

// replace sets a text of a trace.
static void replace(char** text, char* with) {
  free(*text);
  *text = with;
}

void capi_trace_begin(TRITONSERVER_InferenceTrace* trace, const char* model, int64_t version, const char* request) {
  replace(&trace->model, capi_copy(model));
  replace(&trace->request, capi_copy(request));
  trace->version = version;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceTraceSetContext(TRITONSERVER_InferenceTrace* trace, const char* trace_context) {
  CAPI_REQUIRE(trace);
  char* copy = capi_copy(trace_context);
  pthread_mutex_lock(&trace->mutex);
  replace(&trace->context, copy);
  pthread_mutex_unlock(&trace->mutex);
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceTraceContext(TRITONSERVER_InferenceTrace* trace, const char** trace_context) {
  CAPI_REQUIRE(trace);
  CAPI_REQUIRE(trace_context);
  pthread_mutex_lock(&trace->mutex);
  *trace_context = trace->context;
  pthread_mutex_unlock(&trace->mutex);
  return NULL;
}

// The context carries the names of activities to the activity function: each is a member whose
// name is its time.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceTraceReportActivity(
    TRITONSERVER_InferenceTrace* trace, uint64_t timestamp, const char* activity_name) {
  if (trace == NULL || !(trace->level & TRITONSERVER_TRACE_LEVEL_TIMESTAMPS)) {
    return NULL;
  }
  pthread_mutex_lock(&trace->mutex);
  char* context = capiTraceContext(trace->context, timestamp, (char*)(activity_name == NULL ? "" : activity_name));
  if (context != NULL) {
    replace(&trace->context, context);
  }
  pthread_mutex_unlock(&trace->mutex);
  if (trace->activity != NULL) {
    trace->activity(trace, TRITONSERVER_TRACE_CUSTOM_ACTIVITY, timestamp, trace->userp);
  }
  return NULL;
}
