//go:build cgo && linux

#include "_cgo_export.h"
#include "objects.h"

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorNew(
    TRITONSERVER_ResponseAllocator** allocator, TRITONSERVER_ResponseAllocatorAllocFn_t alloc_fn,
    TRITONSERVER_ResponseAllocatorReleaseFn_t release_fn, TRITONSERVER_ResponseAllocatorStartFn_t start_fn) {
  CAPI_REQUIRE(allocator);
  CAPI_REQUIRE(alloc_fn);
  CAPI_REQUIRE(release_fn);
  TRITONSERVER_ResponseAllocator* a = calloc(1, sizeof *a);
  a->alloc = alloc_fn;
  a->release = release_fn;
  a->start = start_fn;
  *allocator = a;
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorSetQueryFunction(
    TRITONSERVER_ResponseAllocator* allocator, TRITONSERVER_ResponseAllocatorQueryFn_t query_fn) {
  CAPI_REQUIRE(allocator);
  allocator->query = query_fn;
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorSetBufferAttributesFunction(
    TRITONSERVER_ResponseAllocator* allocator, TRITONSERVER_ResponseAllocatorBufferAttributesFn_t buffer_attributes_fn) {
  CAPI_REQUIRE(allocator);
  allocator->attributes = buffer_attributes_fn;
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorDelete(TRITONSERVER_ResponseAllocator* allocator) {
  free(allocator);
  return NULL;
}

// copy returns a copy of a text of Go.
static char* copy(const char* text, size_t size) {
  char* c = malloc(size + 1);
  if (size > 0) {
    memcpy(c, text, size);
  }
  c[size] = 0;
  return c;
}

TRITONSERVER_InferenceResponse* capi_response(
    TRITONSERVER_ResponseAllocator* allocator, const char* model, size_t model_size, int64_t version, const char* id, size_t id_size,
    uint32_t outputs, uint32_t parameters) {
  TRITONSERVER_InferenceResponse* r = calloc(1, sizeof *r);
  r->allocator = allocator;
  r->model = copy(model, model_size);
  r->version = version;
  r->id = copy(id, id_size);
  r->outputs = calloc(outputs + 1, sizeof *r->outputs);
  r->parameters = calloc(parameters + 1, sizeof *r->parameters);
  return r;
}

// free_outputs returns the outputs to the allocator. An error of it has no one to go to.
static void free_outputs(TRITONSERVER_InferenceResponse* r) {
  for (uint32_t i = 0; i < r->output_count; i++) {
    capi_output* o = &r->outputs[i];
    if (o->allocated) {
      TRITONSERVER_Error* err = r->allocator->release(r->allocator, o->base, o->userp, o->size, o->memory_type, o->memory_id);
      if (err != NULL) {
        TRITONSERVER_LogMessage(TRITONSERVER_LOG_ERROR, __FILE__, __LINE__, TRITONSERVER_ErrorMessage(err));
        TRITONSERVER_ErrorDelete(err);
      }
    }
    for (size_t k = 0; k < o->label_count; k++) {
      free(o->labels[k]);
    }
    free(o->labels);
    free(o->shape);
    free(o->name);
  }
  r->output_count = 0;
}

void capi_response_fail(TRITONSERVER_InferenceResponse* r, TRITONSERVER_Error_Code code, const char* text, size_t size) {
  free_outputs(r);
  free(r->error);
  r->code = code;
  r->error = copy(text, size);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceResponseDelete(TRITONSERVER_InferenceResponse* inference_response) {
  TRITONSERVER_InferenceResponse* r = inference_response;
  if (r == NULL) {
    return NULL;
  }
  free_outputs(r);
  for (uint32_t i = 0; i < r->parameter_count; i++) {
    TRITONSERVER_ParameterDelete(r->parameters[i]);
  }
  if (r->labels != 0) {
    capiForgetLabels(r->labels);
  }
  free(r->parameters);
  free(r->outputs);
  free(r->error);
  free(r->id);
  free(r->model);
  free(r);
  return NULL;
}

// attributes lets the allocator complete the attributes of a buffer, which say where it is.
static TRITONSERVER_Error* attributes(TRITONSERVER_ResponseAllocator* a, void* userp, capi_output* o) {
  TRITONSERVER_BufferAttributes b = {.type = o->memory_type, .id = o->memory_id, .size = o->size};
  TRITONSERVER_Error* err = a->attributes(a, o->name, &b, userp, o->userp);
  o->memory_type = b.type;
  o->memory_id = b.id;
  return err;
}

TRITONSERVER_Error* capi_response_output(
    TRITONSERVER_InferenceResponse* r, void* userp, const char* name, size_t name_size, TRITONSERVER_DataType type, const int64_t* shape,
    uint64_t dims, size_t size, void** base) {
  TRITONSERVER_ResponseAllocator* a = r->allocator;
  capi_output* o = &r->outputs[r->output_count++];
  o->name = copy(name, name_size);
  o->type = type;
  o->shape = calloc(dims + 1, sizeof *shape);
  o->dims = dims;
  if (dims > 0) {
    memcpy(o->shape, shape, dims * sizeof *shape);
  }
  o->size = size;
  o->memory_type = TRITONSERVER_MEMORY_CPU;
  if (a->query != NULL) {
    TRITONSERVER_Error* err = a->query(a, userp, o->name, &size, &o->memory_type, &o->memory_id);
    if (err != NULL) {
      return err;
    }
  }
  TRITONSERVER_MemoryType actual = o->memory_type;
  int64_t actual_id = o->memory_id;
  TRITONSERVER_Error* err = a->alloc(a, o->name, o->size, o->memory_type, o->memory_id, userp, &o->base, &o->userp, &actual, &actual_id);
  o->memory_type = actual;
  o->memory_id = actual_id;
  if (err != NULL) {
    return err;
  }
  o->allocated = true;
  if (a->attributes != NULL && (err = attributes(a, userp, o)) != NULL) {
    return err;
  }
  if (o->size > 0 && (o->base == NULL || o->memory_type == TRITONSERVER_MEMORY_GPU)) {
    return capi_error(TRITONSERVER_ERROR_UNSUPPORTED, "the response allocator placed output '%s' in %s memory, which this server cannot write",
                      o->name, o->base == NULL ? "no" : TRITONSERVER_MemoryTypeString(o->memory_type));
  }
  *base = o->base;
  return NULL;
}

void capi_response_parameter(TRITONSERVER_InferenceResponse* r, const char* name, size_t name_size, TRITONSERVER_ParameterType type, const void* value) {
  char* c = copy(name, name_size);
  r->parameters[r->parameter_count++] = TRITONSERVER_ParameterNew(c, type, value);
  free(c);
}

TRITONSERVER_Error* capi_call_start(TRITONSERVER_ResponseAllocator* allocator, void* userp) {
  return allocator->start == NULL ? NULL : allocator->start(allocator, userp);
}

void capi_call_complete(TRITONSERVER_InferenceResponseCompleteFn_t f, TRITONSERVER_InferenceResponse* r, uint32_t flags, void* userp) {
  f(r, flags, userp);
}

void capi_call_activity(TRITONSERVER_InferenceTrace* t, int activity, uint64_t ns) {
  if (t->activity != NULL && (t->level & TRITONSERVER_TRACE_LEVEL_TIMESTAMPS)) {
    t->activity(t, (TRITONSERVER_InferenceTraceActivity)activity, ns, t->userp);
  }
}

void capi_call_tensor(
    TRITONSERVER_InferenceTrace* t, int activity, const char* name, TRITONSERVER_DataType type, const void* base, size_t size,
    const int64_t* shape, uint64_t dims) {
  t->tensor(t, (TRITONSERVER_InferenceTraceActivity)activity, name, type, base, size, shape, dims, TRITONSERVER_MEMORY_CPU, 0, t->userp);
}

void capi_call_trace_release(TRITONSERVER_InferenceTrace* t) {
  if (t->release != NULL) {
    t->release(t, t->userp);
  }
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceResponseError(TRITONSERVER_InferenceResponse* inference_response) {
  CAPI_REQUIRE(inference_response);
  return inference_response->error == NULL ? NULL : TRITONSERVER_ErrorNew(inference_response->code, inference_response->error);
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceResponseModel(
    TRITONSERVER_InferenceResponse* inference_response, const char** model_name, int64_t* model_version) {
  CAPI_REQUIRE(inference_response);
  CAPI_REQUIRE(model_name);
  CAPI_REQUIRE(model_version);
  *model_name = inference_response->model;
  *model_version = inference_response->version;
  return NULL;
}

#define GETTER(name, type, field) \
  TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceResponse##name(TRITONSERVER_InferenceResponse* inference_response, type* value) { \
    CAPI_REQUIRE(inference_response); \
    CAPI_REQUIRE(value); \
    *value = inference_response->field; \
    return NULL; \
  }

GETTER(Id, const char*, id)
GETTER(ParameterCount, uint32_t, parameter_count)
GETTER(OutputCount, uint32_t, output_count)

#define CHECK_INDEX(index, count, what) \
  do { \
    if ((index) >= (count)) { \
      return capi_error(TRITONSERVER_ERROR_INVALID_ARG, "out of bounds index %u: response has %u " what, index, count); \
    } \
  } while (0)

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceResponseParameter(
    TRITONSERVER_InferenceResponse* inference_response, const uint32_t index, const char** name, TRITONSERVER_ParameterType* type,
    const void** vvalue) {
  CAPI_REQUIRE(inference_response);
  CHECK_INDEX(index, inference_response->parameter_count, "parameters");
  CAPI_REQUIRE(name);
  CAPI_REQUIRE(type);
  CAPI_REQUIRE(vvalue);
  const TRITONSERVER_Parameter* p = inference_response->parameters[index];
  *name = p->name;
  *type = p->type;
  *vvalue = capi_parameter_value(p);
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceResponseOutput(
    TRITONSERVER_InferenceResponse* inference_response, const uint32_t index, const char** name, TRITONSERVER_DataType* datatype,
    const int64_t** shape, uint64_t* dim_count, const void** base, size_t* byte_size, TRITONSERVER_MemoryType* memory_type,
    int64_t* memory_type_id, void** userp) {
  CAPI_REQUIRE(inference_response);
  CHECK_INDEX(index, inference_response->output_count, "outputs");
  const capi_output* o = &inference_response->outputs[index];
#define STORE(pointer, value) \
  CAPI_REQUIRE(pointer); \
  *(pointer) = value
  STORE(name, o->name);
  STORE(datatype, o->type);
  STORE(shape, o->shape);
  STORE(dim_count, o->dims);
  STORE(base, o->base);
  STORE(byte_size, o->size);
  STORE(memory_type, o->memory_type);
  STORE(memory_type_id, o->memory_id);
  STORE(userp, o->userp);
  return NULL;
}

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_InferenceResponseOutputClassificationLabel(
    TRITONSERVER_InferenceResponse* inference_response, const uint32_t index, const size_t class_index, const char** label) {
  CAPI_REQUIRE(inference_response);
  CHECK_INDEX(index, inference_response->output_count, "outputs");
  CAPI_REQUIRE(label);
  TRITONSERVER_InferenceResponse* r = inference_response;
  capi_output* o = &r->outputs[index];
  *label = NULL;
  char* text = r->labels == 0 ? NULL : capiLabel(r->labels, o->name, class_index);
  if (text == NULL) {
    return NULL;
  }
  char** labels = realloc(o->labels, (o->label_count + 1) * sizeof *labels);
  if (labels == NULL) {
    free(text);
    return capi_error(TRITONSERVER_ERROR_UNAVAILABLE, "no memory for a label");
  }
  o->labels = labels;
  labels[o->label_count++] = text;
  *label = text;
  return NULL;
}
