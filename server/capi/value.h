// The objects of the C API that have no server: their memory is malloc'd and never Go's, so that
// programs may keep and delete them on any thread.
#pragma once

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "triton/core/tritonserver.h"

#define CAPI_HIDDEN __attribute__((visibility("hidden")))

struct TRITONSERVER_Parameter {
  char* name;
  TRITONSERVER_ParameterType type;
  // The value, or where it is: text and bytes are by pointer.
  union {
    char* text;
    const void* bytes;
    int64_t integer;
    double number;
    bool boolean;
  } value;
  uint64_t size;  // of bytes
};

#define CAPI_IPC_HANDLE_SIZE 64

struct TRITONSERVER_BufferAttributes {
  TRITONSERVER_MemoryType type;
  int64_t id;
  size_t size;
  bool has_handle;
  char handle[CAPI_IPC_HANDLE_SIZE];
};

struct TRITONSERVER_Message {
  size_t size;
  char text[];  // and a zero byte
};

struct TRITONSERVER_InferenceTrace {
  uint32_t level;
  uint64_t id, parent;
  TRITONSERVER_InferenceTraceActivityFn_t activity;
  TRITONSERVER_InferenceTraceTensorActivityFn_t tensor;
  TRITONSERVER_InferenceTraceReleaseFn_t release;
  void* userp;
  pthread_mutex_t mutex;  // guards the context
  char* context;
  char* model;
  int64_t version;
  char* request;
};

// capi_error returns an error with a formatted text.
CAPI_HIDDEN TRITONSERVER_Error* capi_error(TRITONSERVER_Error_Code code, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

// capi_copy returns a copy of a text; of null, an empty one.
CAPI_HIDDEN char* capi_copy(const char* text);

// capi_message returns a message with room for size bytes.
CAPI_HIDDEN TRITONSERVER_Message* capi_message(const char* text, size_t size);

// capi_parameter_value returns the address of a parameter's value, as the API hands it out.
CAPI_HIDDEN const void* capi_parameter_value(const TRITONSERVER_Parameter* p);

// capi_trace_begin sets what a trace is of.
CAPI_HIDDEN void capi_trace_begin(TRITONSERVER_InferenceTrace* trace, const char* model, int64_t version, const char* request);

// CAPI_REQUIRE returns an error if a pointer is null.
#define CAPI_REQUIRE(pointer) \
  do { \
    if ((pointer) == NULL) { \
      return capi_error(TRITONSERVER_ERROR_INVALID_ARG, "%s: argument '%s' must not be null", __func__, #pointer); \
    } \
  } while (0)

// capi_log_enable sets the levels that are written, as bits.
CAPI_HIDDEN void capi_log_enable(unsigned levels);
