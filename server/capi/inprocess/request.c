//go:build cgo && linux

#include <stdio.h>

#include "_cgo_export.h"
#include "objects.h"

#define INVALID(r, format, ...) \
  capi_error(TRITONSERVER_ERROR_INVALID_ARG, "[request id: %s] " format, *(r)->id == 0 ? "<id_unknown>" : (r)->id, __VA_ARGS__)

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestNew(
    TRITONSERVER_InferenceRequest** inference_request, TRITONSERVER_Server* server, const char* model_name, const int64_t model_version) {
  CAPI_REQUIRE(inference_request);
  CAPI_REQUIRE(server);
  CAPI_REQUIRE(model_name);
  uint64_t most = 0, usual = 0;
  TRITONSERVER_Error* err = capiFindModel(server->handle, (char*)model_name, model_version, &most, &usual);
  if (err != NULL) {
    return err;
  }
  TRITONSERVER_InferenceRequest* r = calloc(1, sizeof *r);
  if (r == NULL) {
    return capi_error(TRITONSERVER_ERROR_UNAVAILABLE, "no memory for a request");
  }
  r->server = server;
  r->model = capi_copy(model_name);
  r->version = model_version;
  r->id = capi_copy("");
  r->most_priority = most;
  r->default_priority = usual;
  *inference_request = r;
  return NULL;
}

static void free_data(capi_input* in) {
  for (size_t i = 0; i < in->buffer_count; i++) {
    free(in->buffers[i].policy);
  }
  free(in->buffers);
  in->buffers = NULL;
  in->buffer_count = 0;
}

static void free_input(capi_input* in) {
  free_data(in);
  free(in->shape);
  free(in->name);
}

static void remove_inputs(TRITONSERVER_InferenceRequest* r) {
  for (size_t i = 0; i < r->input_count; i++) {
    free_input(&r->inputs[i]);
  }
  free(r->inputs);
  r->inputs = NULL;
  r->input_count = 0;
  r->raw = false;
}

static void remove_outputs(TRITONSERVER_InferenceRequest* r) {
  for (size_t i = 0; i < r->output_count; i++) {
    free(r->outputs[i]);
  }
  free(r->outputs);
  r->outputs = NULL;
  r->output_count = 0;
}

// free_request frees a request that nothing uses.
static void free_request(TRITONSERVER_InferenceRequest* r) {
  if (r->flight != 0) {
    capiForgetFlight(r->flight);
  }
  remove_inputs(r);
  remove_outputs(r);
  for (size_t i = 0; i < r->parameter_count; i++) {
    TRITONSERVER_ParameterDelete(r->parameters[i]);
  }
  free(r->parameters);
  free(r->correlation_text);
  free(r->id);
  free(r->model);
  free(r);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestDelete(TRITONSERVER_InferenceRequest* inference_request) {
  int running = CAPI_RUNNING;
  if (inference_request != NULL && !atomic_compare_exchange_strong(&inference_request->state, &running, CAPI_DELETED)) {
    free_request(inference_request);
  }
  return NULL;
}

void capi_call_release(TRITONSERVER_InferenceRequest* r) {
  // Once idle the request may be deleted by another thread.
  TRITONSERVER_InferenceRequestReleaseFn_t release = r->release;
  void* userp = r->release_userp;
  int running = CAPI_RUNNING;
  if (atomic_compare_exchange_strong(&r->state, &running, CAPI_IDLE)) {
    release(r, TRITONSERVER_REQUEST_RELEASE_ALL, userp);
  } else {
    free_request(r);
  }
}

#define GETTER(name, type, field) \
  TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequest##name(TRITONSERVER_InferenceRequest* inference_request, type* value) { \
    CAPI_REQUIRE(inference_request); \
    CAPI_REQUIRE(value); \
    *value = inference_request->field; \
    return NULL; \
  }

#define SETTER(name, type, field) \
  TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestSet##name(TRITONSERVER_InferenceRequest* inference_request, type value) { \
    CAPI_REQUIRE(inference_request); \
    inference_request->field = value; \
    return NULL; \
  }

GETTER(Id, const char*, id)
GETTER(Flags, uint32_t, flags)
GETTER(PriorityUInt64, uint64_t, priority)
GETTER(TimeoutMicroseconds, uint64_t, timeout)
SETTER(Flags, uint32_t, flags)
SETTER(TimeoutMicroseconds, uint64_t, timeout)

// A priority that the model does not have is its default one.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetPriorityUInt64(TRITONSERVER_InferenceRequest* inference_request, uint64_t priority) {
  CAPI_REQUIRE(inference_request);
  bool known = priority != 0 && priority <= inference_request->most_priority;
  inference_request->priority = known ? priority : inference_request->default_priority;
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetPriority(TRITONSERVER_InferenceRequest* inference_request, uint32_t priority) {
  return TRITONSERVER_InferenceRequestSetPriorityUInt64(inference_request, priority);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetId(TRITONSERVER_InferenceRequest* inference_request, const char* id) {
  CAPI_REQUIRE(inference_request);
  char* copy = capi_copy(id);
  free(inference_request->id);
  inference_request->id = copy;
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestPriority(TRITONSERVER_InferenceRequest* inference_request, uint32_t* priority) {
  CAPI_REQUIRE(inference_request);
  CAPI_REQUIRE(priority);
  if (inference_request->priority > UINT32_MAX) {
    return capi_error(TRITONSERVER_ERROR_INVALID_ARG,
                      "request priority overflows uint32_t, use TRITONSERVER_InferenceRequestPriorityUInt64, priority=%llu",
                      (unsigned long long)inference_request->priority);
  }
  *priority = (uint32_t)inference_request->priority;
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestCorrelationId(
    TRITONSERVER_InferenceRequest* inference_request, uint64_t* correlation_id) {
  CAPI_REQUIRE(inference_request);
  CAPI_REQUIRE(correlation_id);
  if (inference_request->text_correlation) {
    return capi_error(TRITONSERVER_ERROR_INVALID_ARG, "given request's correlation id is not an unsigned int");
  }
  *correlation_id = inference_request->correlation;
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestCorrelationIdString(
    TRITONSERVER_InferenceRequest* inference_request, const char** correlation_id) {
  CAPI_REQUIRE(inference_request);
  CAPI_REQUIRE(correlation_id);
  if (!inference_request->text_correlation) {
    return capi_error(TRITONSERVER_ERROR_INVALID_ARG, "given request's correlation id is not a string");
  }
  *correlation_id = inference_request->correlation_text;
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetCorrelationId(
    TRITONSERVER_InferenceRequest* inference_request, uint64_t correlation_id) {
  CAPI_REQUIRE(inference_request);
  inference_request->text_correlation = false;
  inference_request->correlation = correlation_id;
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetCorrelationIdString(
    TRITONSERVER_InferenceRequest* inference_request, const char* correlation_id) {
  CAPI_REQUIRE(inference_request);
  CAPI_REQUIRE(correlation_id);
  if (strlen(correlation_id) > 128) {
    return capi_error(TRITONSERVER_ERROR_UNSUPPORTED, "string correlation ID cannot be longer than 128 characters");
  }
  char* copy = capi_copy(correlation_id);
  free(inference_request->correlation_text);
  inference_request->correlation_text = copy;
  inference_request->text_correlation = true;
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestCancel(TRITONSERVER_InferenceRequest* inference_request) {
  CAPI_REQUIRE(inference_request);
  if (inference_request->flight == 0) {
    return capi_error(TRITONSERVER_ERROR_INTERNAL,
                      "It is not possible to cancel an inference request before calling TRITONSERVER_InferAsync.");
  }
  return capiCancel(inference_request->flight);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestIsCancelled(
    TRITONSERVER_InferenceRequest* inference_request, bool* is_cancelled) {
  CAPI_REQUIRE(inference_request);
  CAPI_REQUIRE(is_cancelled);
  if (inference_request->flight == 0) {
    return capi_error(TRITONSERVER_ERROR_INTERNAL,
                      "It is not possible to query cancellation status before calling TRITONSERVER_InferAsync.");
  }
  *is_cancelled = capiIsCancelled(inference_request->flight);
  return NULL;
}

// grow returns an array with room for one element more, all zero; null without memory.
static void* grow(void* array, size_t count, size_t size) {
  char* larger = realloc(array, (count + 1) * size);
  if (larger != NULL) {
    memset(larger + count * size, 0, size);
  }
  return larger;
}

#define GROW(array, count) grow(array, count, sizeof *(array))

static capi_input* find_input(TRITONSERVER_InferenceRequest* r, const char* name) {
  for (size_t i = 0; i < r->input_count; i++) {
    if (strcmp(r->inputs[i].name, name) == 0) {
      return &r->inputs[i];
    }
  }
  return NULL;
}

static TRITONSERVER_Error* add_input(
    TRITONSERVER_InferenceRequest* r, const char* name, TRITONSERVER_DataType type, const int64_t* shape, uint64_t dims) {
  if (find_input(r, name) != NULL) {
    return INVALID(r, "input '%s' already exists in request", name);
  }
  capi_input* inputs = GROW(r->inputs, r->input_count);
  int64_t* copy = calloc(dims + 1, sizeof *copy);
  if (inputs != NULL) {
    r->inputs = inputs;
  }
  if (inputs == NULL || copy == NULL) {
    free(copy);
    return capi_error(TRITONSERVER_ERROR_UNAVAILABLE, "no memory for input '%s'", name);
  }
  if (dims > 0) {
    memcpy(copy, shape, dims * sizeof *copy);
  }
  inputs[r->input_count++] = (capi_input){.name = capi_copy(name), .type = type, .shape = copy, .dims = dims};
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestAddInput(
    TRITONSERVER_InferenceRequest* inference_request, const char* name, const TRITONSERVER_DataType datatype, const int64_t* shape,
    uint64_t dim_count) {
  CAPI_REQUIRE(inference_request);
  CAPI_REQUIRE(name);
  if (dim_count > 0) {
    CAPI_REQUIRE(shape);
  }
  return add_input(inference_request, name, datatype, shape, dim_count);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestAddRawInput(
    TRITONSERVER_InferenceRequest* inference_request, const char* name) {
  CAPI_REQUIRE(inference_request);
  CAPI_REQUIRE(name);
  if (inference_request->input_count > 0) {
    return INVALID(inference_request, "raw input '%s' can't be added to request with other inputs", name);
  }
  TRITONSERVER_Error* err = add_input(inference_request, name, TRITONSERVER_TYPE_INVALID, NULL, 0);
  inference_request->raw = err == NULL;
  return err;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveInput(
    TRITONSERVER_InferenceRequest* inference_request, const char* name) {
  CAPI_REQUIRE(inference_request);
  CAPI_REQUIRE(name);
  TRITONSERVER_InferenceRequest* r = inference_request;
  capi_input* in = find_input(r, name);
  if (in == NULL) {
    return INVALID(r, "input '%s' does not exist in request", name);
  }
  free_input(in);
  r->input_count--;
  memmove(in, in + 1, (size_t)(r->inputs + r->input_count - in) * sizeof *in);
  r->raw = false;
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveAllInputs(TRITONSERVER_InferenceRequest* inference_request) {
  CAPI_REQUIRE(inference_request);
  remove_inputs(inference_request);
  return NULL;
}

static TRITONSERVER_Error* append_data(TRITONSERVER_InferenceRequest* r, const char* name, capi_buffer buffer, const char* policy) {
  capi_input* in = find_input(r, name);
  if (in == NULL) {
    return INVALID(r, "input '%s' does not exist in request", name);
  }
  if (buffer.size == 0) {
    return NULL;
  }
  if (buffer.base == NULL) {
    return INVALID(r, "data of input '%s' must not be null", name);
  }
  capi_buffer* buffers = GROW(in->buffers, in->buffer_count);
  if (buffers == NULL) {
    return capi_error(TRITONSERVER_ERROR_UNAVAILABLE, "no memory for data of input '%s'", name);
  }
  in->buffers = buffers;
  buffer.policy = policy == NULL ? NULL : capi_copy(policy);
  buffers[in->buffer_count++] = buffer;
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestAppendInputData(
    TRITONSERVER_InferenceRequest* inference_request, const char* name, const void* base, size_t byte_size,
    TRITONSERVER_MemoryType memory_type, int64_t memory_type_id) {
  CAPI_REQUIRE(inference_request);
  CAPI_REQUIRE(name);
  return append_data(inference_request, name, (capi_buffer){.base = base, .size = byte_size, .type = memory_type, .id = memory_type_id}, NULL);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestAppendInputDataWithHostPolicy(
    TRITONSERVER_InferenceRequest* inference_request, const char* name, const void* base, size_t byte_size,
    TRITONSERVER_MemoryType memory_type, int64_t memory_type_id, const char* host_policy_name) {
  CAPI_REQUIRE(inference_request);
  CAPI_REQUIRE(name);
  CAPI_REQUIRE(host_policy_name);
  return append_data(inference_request, name, (capi_buffer){.base = base, .size = byte_size, .type = memory_type, .id = memory_type_id},
                     host_policy_name);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestAppendInputDataWithBufferAttributes(
    TRITONSERVER_InferenceRequest* inference_request, const char* name, const void* base, TRITONSERVER_BufferAttributes* buffer_attributes) {
  CAPI_REQUIRE(inference_request);
  CAPI_REQUIRE(name);
  CAPI_REQUIRE(buffer_attributes);
  return append_data(inference_request, name, (capi_buffer){.base = base, .size = buffer_attributes->size, .type = buffer_attributes->type,
                                                            .id = buffer_attributes->id}, NULL);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveAllInputData(
    TRITONSERVER_InferenceRequest* inference_request, const char* name) {
  CAPI_REQUIRE(inference_request);
  CAPI_REQUIRE(name);
  capi_input* in = find_input(inference_request, name);
  if (in == NULL) {
    return INVALID(inference_request, "input '%s' does not exist in request", name);
  }
  free_data(in);
  return NULL;
}

static char** find_output(TRITONSERVER_InferenceRequest* r, const char* name) {
  for (size_t i = 0; i < r->output_count; i++) {
    if (strcmp(r->outputs[i], name) == 0) {
      return &r->outputs[i];
    }
  }
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestAddRequestedOutput(
    TRITONSERVER_InferenceRequest* inference_request, const char* name) {
  CAPI_REQUIRE(inference_request);
  CAPI_REQUIRE(name);
  TRITONSERVER_InferenceRequest* r = inference_request;
  if (find_output(r, name) != NULL) {
    return INVALID(r, "output '%s' already exists in request", name);
  }
  char** outputs = GROW(r->outputs, r->output_count);
  if (outputs == NULL) {
    return capi_error(TRITONSERVER_ERROR_UNAVAILABLE, "no memory for output '%s'", name);
  }
  r->outputs = outputs;
  outputs[r->output_count++] = capi_copy(name);
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveRequestedOutput(
    TRITONSERVER_InferenceRequest* inference_request, const char* name) {
  CAPI_REQUIRE(inference_request);
  CAPI_REQUIRE(name);
  TRITONSERVER_InferenceRequest* r = inference_request;
  char** at = find_output(r, name);
  if (at != NULL) {
    free(*at);
    r->output_count--;
    memmove(at, at + 1, (size_t)(r->outputs + r->output_count - at) * sizeof *at);
  }
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestRemoveAllRequestedOutputs(
    TRITONSERVER_InferenceRequest* inference_request) {
  CAPI_REQUIRE(inference_request);
  remove_outputs(inference_request);
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetReleaseCallback(
    TRITONSERVER_InferenceRequest* inference_request, TRITONSERVER_InferenceRequestReleaseFn_t request_release_fn, void* request_release_userp) {
  CAPI_REQUIRE(inference_request);
  inference_request->release = request_release_fn;
  inference_request->release_userp = request_release_userp;
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetResponseCallback(
    TRITONSERVER_InferenceRequest* inference_request, TRITONSERVER_ResponseAllocator* response_allocator, void* response_allocator_userp,
    TRITONSERVER_InferenceResponseCompleteFn_t response_fn, void* response_userp) {
  CAPI_REQUIRE(inference_request);
  inference_request->allocator = response_allocator;
  inference_request->allocator_userp = response_allocator_userp;
  inference_request->complete = response_fn;
  inference_request->complete_userp = response_userp;
  return NULL;
}

static TRITONSERVER_Error* add_parameter(TRITONSERVER_InferenceRequest* request, const char* key, TRITONSERVER_ParameterType type, const void* value) {
  CAPI_REQUIRE(request);
  CAPI_REQUIRE(key);
  CAPI_REQUIRE(value);
  TRITONSERVER_Parameter** parameters = GROW(request->parameters, request->parameter_count);
  if (parameters == NULL) {
    return capi_error(TRITONSERVER_ERROR_UNAVAILABLE, "no memory for parameter '%s'", key);
  }
  request->parameters = parameters;
  parameters[request->parameter_count++] = TRITONSERVER_ParameterNew(key, type, value);
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetStringParameter(
    TRITONSERVER_InferenceRequest* request, const char* key, const char* value) {
  return add_parameter(request, key, TRITONSERVER_PARAMETER_STRING, value);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetIntParameter(
    TRITONSERVER_InferenceRequest* request, const char* key, const int64_t value) {
  return add_parameter(request, key, TRITONSERVER_PARAMETER_INT, &value);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetBoolParameter(
    TRITONSERVER_InferenceRequest* request, const char* key, const bool value) {
  return add_parameter(request, key, TRITONSERVER_PARAMETER_BOOL, &value);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceRequestSetDoubleParameter(
    TRITONSERVER_InferenceRequest* request, const char* key, const double value) {
  return add_parameter(request, key, TRITONSERVER_PARAMETER_DOUBLE, &value);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ServerInferAsync(
    TRITONSERVER_Server* server, TRITONSERVER_InferenceRequest* inference_request, TRITONSERVER_InferenceTrace* trace) {
  CAPI_REQUIRE(server);
  CAPI_REQUIRE(inference_request);
  TRITONSERVER_InferenceRequest* r = inference_request;
  if (r->complete == NULL || r->allocator == NULL || r->release == NULL) {
    return INVALID(r, "%s", "the request has no response callback, allocator or release callback");
  }
  int idle = CAPI_IDLE;
  if (!atomic_compare_exchange_strong(&r->state, &idle, CAPI_RUNNING)) {
    return capi_error(TRITONSERVER_ERROR_INTERNAL, "[request id: %s] Invalid request state transition from EXECUTING to INITIALIZED",
                      *r->id == 0 ? "<id_unknown>" : r->id);
  }
  TRITONSERVER_Error* err = capiInfer(server->handle, r, trace);
  if (err != NULL) {
    atomic_store(&r->state, CAPI_IDLE);
  }
  return err;
}
