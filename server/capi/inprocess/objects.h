// The objects of the C API that need a server. C code reads and writes requests and responses;
// Go code starts requests and answers questions about models.
#pragma once

#include "../value.h"

struct TRITONSERVER_Server {
  uintptr_t handle;  // of the Go server
};

struct TRITONSERVER_ResponseAllocator {
  TRITONSERVER_ResponseAllocatorAllocFn_t alloc;
  TRITONSERVER_ResponseAllocatorReleaseFn_t release;
  TRITONSERVER_ResponseAllocatorStartFn_t start;
  TRITONSERVER_ResponseAllocatorQueryFn_t query;
  TRITONSERVER_ResponseAllocatorBufferAttributesFn_t attributes;
};

typedef struct {
  const void* base;
  size_t size;
  TRITONSERVER_MemoryType type;
  int64_t id;
  char* policy;  // the host policy that the bytes are for; null: all
} capi_buffer;

typedef struct {
  char* name;
  TRITONSERVER_DataType type;
  int64_t* shape;
  uint64_t dims;
  capi_buffer* buffers;
  size_t buffer_count;
} capi_input;

// The states of a request. Programs delete requests that they have the response of, also when the
// server has not yet released them: those are deleted by the server then.
typedef enum {
  CAPI_IDLE,     // the caller's
  CAPI_RUNNING,  // the server's, until it calls the release function
  CAPI_DELETED,  // the server's, who deletes it
} capi_state;

struct TRITONSERVER_InferenceRequest {
  TRITONSERVER_Server* server;
  char* model;
  int64_t version;
  char* id;
  uint32_t flags;
  bool text_correlation;  // correlation_text counts, not correlation
  uint64_t correlation;
  char* correlation_text;
  uint64_t priority, timeout;
  uint64_t most_priority, default_priority;  // of the model

  capi_input* inputs;
  size_t input_count;
  bool raw;  // the only input is raw
  char** outputs;
  size_t output_count;
  TRITONSERVER_Parameter** parameters;
  size_t parameter_count;

  TRITONSERVER_ResponseAllocator* allocator;
  void* allocator_userp;
  TRITONSERVER_InferenceResponseCompleteFn_t complete;
  void* complete_userp;
  TRITONSERVER_InferenceRequestReleaseFn_t release;
  void* release_userp;

  atomic_int state;     // a capi_state
  uintptr_t flight;     // handle of the Go side of the last run; 0: it never ran
};

typedef struct {
  char* name;
  TRITONSERVER_DataType type;
  int64_t* shape;
  uint64_t dims;
  void* base;
  size_t size;
  TRITONSERVER_MemoryType memory_type;
  int64_t memory_id;
  void* userp;
  bool allocated;
  char** labels;  // that were asked for, by class
  size_t label_count;
} capi_output;

struct TRITONSERVER_InferenceResponse {
  char* model;
  int64_t version;
  char* id;
  TRITONSERVER_Error_Code code;
  char* error;  // null: none
  TRITONSERVER_ResponseAllocator* allocator;
  uintptr_t labels;  // handle of what knows the labels; 0: nothing does
  capi_output* outputs;
  uint32_t output_count;
  TRITONSERVER_Parameter** parameters;
  uint32_t parameter_count;
};

// capi_response returns an empty response. Texts are copied.
CAPI_HIDDEN TRITONSERVER_InferenceResponse* capi_response(
    TRITONSERVER_ResponseAllocator* allocator, const char* model, size_t model_size, int64_t version, const char* id, size_t id_size,
    uint32_t outputs, uint32_t parameters);

// capi_response_fail makes an error the response's only content.
CAPI_HIDDEN void capi_response_fail(TRITONSERVER_InferenceResponse* r, TRITONSERVER_Error_Code code, const char* text, size_t size);

// capi_response_output adds an output with memory of the allocator.
CAPI_HIDDEN TRITONSERVER_Error* capi_response_output(
    TRITONSERVER_InferenceResponse* r, void* userp, const char* name, size_t name_size, TRITONSERVER_DataType type, const int64_t* shape,
    uint64_t dims, size_t size, void** base);

// capi_response_parameter adds a parameter, whose value has the form of TRITONSERVER_ParameterNew.
CAPI_HIDDEN void capi_response_parameter(
    TRITONSERVER_InferenceResponse* r, const char* name, size_t name_size, TRITONSERVER_ParameterType type, const void* value);

// The calls of a program's functions.
CAPI_HIDDEN TRITONSERVER_Error* capi_call_start(TRITONSERVER_ResponseAllocator* allocator, void* userp);
CAPI_HIDDEN void capi_call_complete(
    TRITONSERVER_InferenceResponseCompleteFn_t f, TRITONSERVER_InferenceResponse* r, uint32_t flags, void* userp);
CAPI_HIDDEN void capi_call_release(TRITONSERVER_InferenceRequest* r);
CAPI_HIDDEN void capi_call_activity(TRITONSERVER_InferenceTrace* t, int activity, uint64_t ns);
CAPI_HIDDEN void capi_call_tensor(
    TRITONSERVER_InferenceTrace* t, int activity, const char* name, TRITONSERVER_DataType type, const void* base, size_t size,
    const int64_t* shape, uint64_t dims);
CAPI_HIDDEN void capi_call_trace_release(TRITONSERVER_InferenceTrace* t);

// A setting of options is a name and up to three texts and two numbers.
typedef struct {
  char* name;
  char* text[3];
  int64_t number;
  double fraction;
} capi_setting;

struct TRITONSERVER_ServerOptions {
  capi_setting* settings;
  size_t count;
};

struct TRITONSERVER_Metrics {
  uintptr_t server;  // handle of the Go server
  char* text;        // of the last call
};

// capi_host returns the trace of a Go trace.
CAPI_HIDDEN TRITONSERVER_InferenceTrace* capi_host(uintptr_t handle);
