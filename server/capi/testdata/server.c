// The functions of servers, requests and responses. The models are those of library_test.go.
#include "check.h"

#include <stdatomic.h>
#include <unistd.h>

#define MISSING TRITONSERVER_ERROR_NOT_FOUND

// A call collects what a request's functions are called with.
typedef struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  TRITONSERVER_InferenceResponse* responses[64];
  int count, finals, empty;  // finals: responses with the final flag; empty: calls without a response
  int released, started, allocated, freed, queried, attributes;
  int in_callback;  // what the response function does besides
  TRITONSERVER_InferenceRequest* request;
  bool refuse;  // allocations
} call;

static void begin(call* c) {
  memset(c, 0, sizeof *c);
  pthread_mutex_init(&c->mutex, NULL);
  pthread_cond_init(&c->changed, NULL);
}

// wait_for waits until the request is released and its final response has come.
static bool wait_for(call* c) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 60;
  pthread_mutex_lock(&c->mutex);
  int err = 0;
  while (err == 0 && (c->finals == 0 || c->released == 0)) {
    err = pthread_cond_timedwait(&c->changed, &c->mutex, &until);
  }
  pthread_mutex_unlock(&c->mutex);
  return err == 0;
}

static TRITONSERVER_Error* alloc_fn(
    TRITONSERVER_ResponseAllocator* allocator, const char* name, size_t size, TRITONSERVER_MemoryType type, int64_t id, void* userp,
    void** buffer, void** buffer_userp, TRITONSERVER_MemoryType* actual, int64_t* actual_id) {
  (void)allocator, (void)name, (void)type, (void)id;
  call* c = userp;
  if (c->refuse) {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE, "no memory today");
  }
  *buffer = malloc(size + 1);
  *buffer_userp = c;
  *actual = TRITONSERVER_MEMORY_CPU;
  *actual_id = 0;
  c->allocated++;
  return NULL;
}

static TRITONSERVER_Error* free_fn(
    TRITONSERVER_ResponseAllocator* allocator, void* buffer, void* buffer_userp, size_t size, TRITONSERVER_MemoryType type, int64_t id) {
  (void)allocator, (void)size, (void)type, (void)id;
  ((call*)buffer_userp)->freed++;
  free(buffer);
  return NULL;
}

static TRITONSERVER_Error* start_fn(TRITONSERVER_ResponseAllocator* allocator, void* userp) {
  (void)allocator;
  ((call*)userp)->started++;
  return NULL;
}

static TRITONSERVER_Error* query_fn(
    TRITONSERVER_ResponseAllocator* allocator, void* userp, const char* name, size_t* size, TRITONSERVER_MemoryType* type, int64_t* id) {
  (void)allocator, (void)name, (void)size, (void)id;
  ((call*)userp)->queried++;
  *type = TRITONSERVER_MEMORY_CPU_PINNED;
  return NULL;
}

static TRITONSERVER_Error* attributes_fn(
    TRITONSERVER_ResponseAllocator* allocator, const char* name, TRITONSERVER_BufferAttributes* attributes, void* userp, void* buffer_userp) {
  (void)allocator, (void)name, (void)buffer_userp;
  ((call*)userp)->attributes++;
  return TRITONSERVER_BufferAttributesSetMemoryType(attributes, TRITONSERVER_MEMORY_CPU_PINNED);
}

static void complete_fn(TRITONSERVER_InferenceResponse* response, const uint32_t flags, void* userp) {
  call* c = userp;
  if (c->in_callback) {  // calls of the API are allowed here
    bool cancelled = true;
    TRITONSERVER_ErrorDelete(TRITONSERVER_InferenceRequestIsCancelled(c->request, &cancelled));
    TRITONSERVER_ErrorDelete(TRITONSERVER_InferenceRequestCancel(c->request));
  }
  pthread_mutex_lock(&c->mutex);
  if (response == NULL) {
    c->empty++;
  } else {
    c->responses[c->count++] = response;
  }
  c->finals += (flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) != 0;
  pthread_cond_signal(&c->changed);
  pthread_mutex_unlock(&c->mutex);
}

static void release_fn(TRITONSERVER_InferenceRequest* request, const uint32_t flags, void* userp) {
  call* c = userp;
  pthread_mutex_lock(&c->mutex);
  c->released += flags == TRITONSERVER_REQUEST_RELEASE_ALL && request == c->request ? 1 : 100;
  pthread_cond_signal(&c->changed);
  pthread_mutex_unlock(&c->mutex);
}

static TRITONSERVER_ResponseAllocator* allocator;

// new_request makes a request with one INT32 input of four values, a batch of one.
static void new_request(TRITONSERVER_Server* s, call* c, const char* model, const int32_t* data) {
  begin(c);
  OK(TRITONSERVER_InferenceRequestNew(&c->request, s, model, -1));
  OK(TRITONSERVER_InferenceRequestSetReleaseCallback(c->request, release_fn, c));
  OK(TRITONSERVER_InferenceRequestSetResponseCallback(c->request, allocator, c, complete_fn, c));
  int64_t shape[] = {1, 4};
  OK(TRITONSERVER_InferenceRequestAddInput(c->request, "INPUT0", TRITONSERVER_TYPE_INT32, shape, 2));
  OK(TRITONSERVER_InferenceRequestAppendInputData(c->request, "INPUT0", data, 8, TRITONSERVER_MEMORY_CPU, 0));
  OK(TRITONSERVER_InferenceRequestAppendInputData(c->request, "INPUT0", data + 2, 8, TRITONSERVER_MEMORY_CPU, 0));
}

static void end(call* c) {
  for (int i = 0; i < c->count; i++) {
    OK(TRITONSERVER_InferenceResponseDelete(c->responses[i]));
  }
  CHECK(c->freed == c->allocated);
  OK(TRITONSERVER_InferenceRequestDelete(c->request));
}

static const int32_t numbers[] = {1, 2, 3, 4};

static void inference(TRITONSERVER_Server* s) {
  call c;
  new_request(s, &c, "numbers", numbers);
  OK(TRITONSERVER_InferenceRequestSetId(c.request, "my id"));
  OK(TRITONSERVER_InferenceRequestAddRequestedOutput(c.request, "OUTPUT0"));
  FAILS(TRITONSERVER_InferenceRequestCancel(c.request), TRITONSERVER_ERROR_INTERNAL,
        "It is not possible to cancel an inference request before calling TRITONSERVER_InferAsync.");
  for (int round = 0; round < 3; round++) {  // a request may be used again
    c.finals = c.released = 0;
    OK(TRITONSERVER_ServerInferAsync(s, c.request, NULL));
    CHECK(wait_for(&c));
    CHECK(c.released == 1 && c.finals == 1 && c.count == round + 1 && c.empty == 0);
    TRITONSERVER_InferenceResponse* r = c.responses[round];
    OK(TRITONSERVER_InferenceResponseError(r));
    const char *name = NULL, *label = "x";
    int64_t version = 0;
    OK(TRITONSERVER_InferenceResponseModel(r, &name, &version));
    CHECK_TEXT(name, "numbers");
    CHECK(version == 1);
    OK(TRITONSERVER_InferenceResponseId(r, &name));
    CHECK_TEXT(name, "my id");
    uint32_t count = 0;
    OK(TRITONSERVER_InferenceResponseOutputCount(r, &count));
    CHECK(count == 1);
    TRITONSERVER_DataType type;
    const int64_t* shape = NULL;
    uint64_t dims = 0;
    const void* base = NULL;
    size_t size = 0;
    TRITONSERVER_MemoryType memory;
    int64_t id = 7;
    void* userp = NULL;
    OK(TRITONSERVER_InferenceResponseOutput(r, 0, &name, &type, &shape, &dims, &base, &size, &memory, &id, &userp));
    CHECK_TEXT(name, "OUTPUT0");
    CHECK(type == TRITONSERVER_TYPE_INT32 && dims == 2 && shape[0] == 1 && shape[1] == 4 && size == 16 && id == 0 && userp == &c);
    CHECK(memory == TRITONSERVER_MEMORY_CPU_PINNED && memcmp(base, numbers, 16) == 0);
    FAILS(TRITONSERVER_InferenceResponseOutput(r, 1, &name, &type, &shape, &dims, &base, &size, &memory, &id, &userp), INVALID,
          "out of bounds index 1: response has 1 outputs");
    OK(TRITONSERVER_InferenceResponseOutputClassificationLabel(r, 0, 2, &label));
    CHECK_TEXT(label, "third");
    OK(TRITONSERVER_InferenceResponseOutputClassificationLabel(r, 0, 9, &label));
    CHECK(label == NULL);
    OK(TRITONSERVER_InferenceResponseParameterCount(r, &count));
    for (uint32_t i = 0; i < count; i++) {
      TRITONSERVER_ParameterType kind;
      const void* value = NULL;
      OK(TRITONSERVER_InferenceResponseParameter(r, i, &name, &kind, &value));
      CHECK(value != NULL);
    }
  }
  CHECK(c.started == 3 && c.allocated == 3 && c.queried == 3 && c.attributes == 3);
  end(&c);
}

// properties sets and reads the fields of a request.
static void properties(TRITONSERVER_Server* s) {
  call c;
  new_request(s, &c, "numbers", numbers);
  TRITONSERVER_InferenceRequest* r = c.request;
  const char* text = NULL;
  uint32_t n32 = 7;
  uint64_t n64 = 7;
  OK(TRITONSERVER_InferenceRequestId(r, &text));
  CHECK_TEXT(text, "");
  OK(TRITONSERVER_InferenceRequestSetFlags(r, 3));
  OK(TRITONSERVER_InferenceRequestFlags(r, &n32));
  CHECK(n32 == 3);
  OK(TRITONSERVER_InferenceRequestCorrelationId(r, &n64));
  CHECK(n64 == 0);
  FAILS(TRITONSERVER_InferenceRequestCorrelationIdString(r, &text), INVALID, "given request's correlation id is not a string");
  OK(TRITONSERVER_InferenceRequestSetCorrelationIdString(r, "sequence"));
  OK(TRITONSERVER_InferenceRequestCorrelationIdString(r, &text));
  CHECK_TEXT(text, "sequence");
  FAILS(TRITONSERVER_InferenceRequestCorrelationId(r, &n64), INVALID, "given request's correlation id is not an unsigned int");
  char longer[130];
  memset(longer, 'x', 129);
  longer[129] = 0;
  FAILS(TRITONSERVER_InferenceRequestSetCorrelationIdString(r, longer), TRITONSERVER_ERROR_UNSUPPORTED,
        "string correlation ID cannot be longer than 128 characters");
  OK(TRITONSERVER_InferenceRequestSetCorrelationId(r, 9));
  OK(TRITONSERVER_InferenceRequestCorrelationId(r, &n64));
  CHECK(n64 == 9);
  OK(TRITONSERVER_InferenceRequestSetPriority(r, 4));
  OK(TRITONSERVER_InferenceRequestPriority(r, &n32));
  CHECK(n32 == 4);
  OK(TRITONSERVER_InferenceRequestSetPriorityUInt64(r, 5));
  OK(TRITONSERVER_InferenceRequestPriorityUInt64(r, &n64));
  CHECK(n64 == 5);
  for (int i = 0; i < 2; i++) {  // the default one in place of those that the model does not have
    OK(TRITONSERVER_InferenceRequestSetPriorityUInt64(r, i == 0 ? 0 : 6));
    OK(TRITONSERVER_InferenceRequestPriority(r, &n32));
    CHECK(n32 == 2);
  }
  OK(TRITONSERVER_InferenceRequestSetTimeoutMicroseconds(r, 5));
  OK(TRITONSERVER_InferenceRequestTimeoutMicroseconds(r, &n64));
  CHECK(n64 == 5);
  int64_t shape[] = {1, 4};
  FAILS(TRITONSERVER_InferenceRequestAddInput(r, "INPUT0", TRITONSERVER_TYPE_INT32, shape, 2), INVALID,
        "[request id: <id_unknown>] input 'INPUT0' already exists in request");
  OK(TRITONSERVER_InferenceRequestSetId(r, "i"));
  FAILS(TRITONSERVER_InferenceRequestAddRawInput(r, "RAW"), INVALID,
        "[request id: i] raw input 'RAW' can't be added to request with other inputs");
  FAILS(TRITONSERVER_InferenceRequestRemoveInput(r, "NONE"), INVALID, "[request id: i] input 'NONE' does not exist in request");
  FAILS(TRITONSERVER_InferenceRequestAppendInputData(r, "NONE", numbers, 4, TRITONSERVER_MEMORY_CPU, 0), INVALID,
        "[request id: i] input 'NONE' does not exist in request");
  FAILS(TRITONSERVER_InferenceRequestRemoveAllInputData(r, "NONE"), INVALID, "[request id: i] input 'NONE' does not exist in request");
  OK(TRITONSERVER_InferenceRequestAddInput(r, "SECOND", TRITONSERVER_TYPE_BYTES, shape, 1));
  OK(TRITONSERVER_InferenceRequestRemoveInput(r, "INPUT0"));
  OK(TRITONSERVER_InferenceRequestRemoveAllInputs(r));
  OK(TRITONSERVER_InferenceRequestAddRequestedOutput(r, "A"));
  FAILS(TRITONSERVER_InferenceRequestAddRequestedOutput(r, "A"), INVALID, "[request id: i] output 'A' already exists in request");
  OK(TRITONSERVER_InferenceRequestAddRequestedOutput(r, "B"));
  OK(TRITONSERVER_InferenceRequestRemoveRequestedOutput(r, "A"));
  OK(TRITONSERVER_InferenceRequestRemoveRequestedOutput(r, "A"));
  OK(TRITONSERVER_InferenceRequestRemoveAllRequestedOutputs(r));
  OK(TRITONSERVER_InferenceRequestSetStringParameter(r, "s", "text"));
  OK(TRITONSERVER_InferenceRequestSetIntParameter(r, "i", 3));
  OK(TRITONSERVER_InferenceRequestSetBoolParameter(r, "b", true));
  OK(TRITONSERVER_InferenceRequestSetDoubleParameter(r, "d", 0.5));
  bool cancelled = false;
  FAILS(TRITONSERVER_InferenceRequestIsCancelled(r, &cancelled), TRITONSERVER_ERROR_INTERNAL,
        "It is not possible to query cancellation status before calling TRITONSERVER_InferAsync.");
  end(&c);
  FAILS(TRITONSERVER_InferenceRequestNew(&r, s, "none", -1), MISSING, "Request for unknown model: 'none' is not found");
}

// raw sends an input whose type and shape the model defines, in a buffer with attributes and for
// a host policy.
static void raw(TRITONSERVER_Server* s) {
  call c;
  new_request(s, &c, "numbers", numbers);
  OK(TRITONSERVER_InferenceRequestRemoveAllInputs(c.request));
  OK(TRITONSERVER_InferenceRequestAddRawInput(c.request, "INPUT0"));
  TRITONSERVER_BufferAttributes* a = NULL;
  OK(TRITONSERVER_BufferAttributesNew(&a));
  OK(TRITONSERVER_BufferAttributesSetByteSize(a, 16));
  OK(TRITONSERVER_InferenceRequestAppendInputDataWithBufferAttributes(c.request, "INPUT0", numbers, a));
  OK(TRITONSERVER_BufferAttributesDelete(a));
  OK(TRITONSERVER_ServerInferAsync(s, c.request, NULL));
  CHECK(wait_for(&c));
  OK(TRITONSERVER_InferenceResponseError(c.responses[0]));
  end(&c);

  new_request(s, &c, "numbers", numbers);
  OK(TRITONSERVER_InferenceRequestRemoveAllInputData(c.request, "INPUT0"));
  OK(TRITONSERVER_InferenceRequestAppendInputDataWithHostPolicy(c.request, "INPUT0", numbers, 16, TRITONSERVER_MEMORY_CPU, 0, "cpu"));
  OK(TRITONSERVER_InferenceRequestAppendInputDataWithHostPolicy(c.request, "INPUT0", numbers, 16, TRITONSERVER_MEMORY_CPU, 0, "gpu_0"));
  OK(TRITONSERVER_ServerInferAsync(s, c.request, NULL));
  CHECK(wait_for(&c));
  OK(TRITONSERVER_InferenceResponseError(c.responses[0]));
  end(&c);
}

// refused sends requests that are refused at once: the caller keeps them, and no function is called.
static void refused(TRITONSERVER_Server* s) {
  call c;
  new_request(s, &c, "numbers", numbers);
  OK(TRITONSERVER_InferenceRequestRemoveAllInputData(c.request, "INPUT0"));
  OK(TRITONSERVER_InferenceRequestAppendInputData(c.request, "INPUT0", numbers, 8, TRITONSERVER_MEMORY_CPU, 0));
  FAILS(TRITONSERVER_ServerInferAsync(s, c.request, NULL), INVALID,
        "[request id: <id_unknown>] input byte size mismatch for input 'INPUT0' for model 'numbers'. Expected 16, got 8");
  OK(TRITONSERVER_InferenceRequestRemoveAllInputData(c.request, "INPUT0"));
  OK(TRITONSERVER_InferenceRequestAppendInputData(c.request, "INPUT0", numbers, 16, TRITONSERVER_MEMORY_GPU, 0));
  FAILS(TRITONSERVER_ServerInferAsync(s, c.request, NULL), TRITONSERVER_ERROR_UNSUPPORTED,
        "[request id: <id_unknown>] data of input 'INPUT0' is in GPU memory, which this server cannot read");
  OK(TRITONSERVER_InferenceRequestSetResponseCallback(c.request, NULL, NULL, NULL, NULL));
  FAILS(TRITONSERVER_ServerInferAsync(s, c.request, NULL), INVALID,
        "[request id: <id_unknown>] the request has no response callback, allocator or release callback");
  CHECK(c.count == 0 && c.empty == 0 && c.released == 0);
  end(&c);
}

// failing allocates no memory, so the response is an error.
static void failing(TRITONSERVER_Server* s) {
  call c;
  new_request(s, &c, "numbers", numbers);
  c.refuse = true;
  OK(TRITONSERVER_ServerInferAsync(s, c.request, NULL));
  CHECK(wait_for(&c));
  CHECK(c.count == 1 && c.released == 1);
  for (int i = 0; i < 2; i++) {  // each call returns an error of its own
    FAILS(TRITONSERVER_InferenceResponseError(c.responses[0]), TRITONSERVER_ERROR_UNAVAILABLE, "no memory today");
  }
  uint32_t outputs = 7;
  OK(TRITONSERVER_InferenceResponseOutputCount(c.responses[0], &outputs));
  CHECK(outputs == 0);
  end(&c);
}

// decoupled gets three responses, and then the end alone.
static void decoupled(TRITONSERVER_Server* s) {
  call c;
  begin(&c);
  OK(TRITONSERVER_InferenceRequestNew(&c.request, s, "repeat", 1));
  OK(TRITONSERVER_InferenceRequestSetReleaseCallback(c.request, release_fn, &c));
  OK(TRITONSERVER_InferenceRequestSetResponseCallback(c.request, allocator, &c, complete_fn, &c));
  c.in_callback = 0;
  int64_t three = 3, one = 1;
  uint32_t zeros[3] = {0};
  OK(TRITONSERVER_InferenceRequestAddInput(c.request, "IN", TRITONSERVER_TYPE_INT32, &three, 1));
  OK(TRITONSERVER_InferenceRequestAppendInputData(c.request, "IN", numbers, 12, TRITONSERVER_MEMORY_CPU, 0));
  OK(TRITONSERVER_InferenceRequestAddInput(c.request, "DELAY", TRITONSERVER_TYPE_UINT32, &three, 1));
  OK(TRITONSERVER_InferenceRequestAppendInputData(c.request, "DELAY", zeros, 12, TRITONSERVER_MEMORY_CPU, 0));
  OK(TRITONSERVER_InferenceRequestAddInput(c.request, "WAIT", TRITONSERVER_TYPE_UINT32, &one, 1));
  OK(TRITONSERVER_InferenceRequestAppendInputData(c.request, "WAIT", zeros, 4, TRITONSERVER_MEMORY_CPU, 0));
  OK(TRITONSERVER_ServerInferAsync(s, c.request, NULL));
  CHECK(wait_for(&c));
  CHECK(c.count == 3 && c.empty == 1 && c.finals == 1 && c.released == 1);
  uint32_t flags = 0;
  OK(TRITONSERVER_ServerModelTransactionProperties(s, "repeat", -1, &flags, NULL));
  CHECK(flags == TRITONSERVER_TXN_DECOUPLED);
  end(&c);
}

// deleted deletes a request that runs: its response comes, and the server deletes it.
static void deleted(TRITONSERVER_Server* s) {
  call c;
  new_request(s, &c, "slow", numbers);
  OK(TRITONSERVER_ServerInferAsync(s, c.request, NULL));
  OK(TRITONSERVER_InferenceRequestDelete(c.request));
  c.released = 1;  // it is not called
  CHECK(wait_for(&c));
  CHECK(c.count == 1 && c.released == 1);
  OK(TRITONSERVER_InferenceResponseError(c.responses[0]));
  OK(TRITONSERVER_InferenceResponseDelete(c.responses[0]));
  CHECK(c.freed == 1);
}

// held checks a request that runs: it cannot be sent again, but cancelled.
static void held(TRITONSERVER_Server* s) {
  call c;
  new_request(s, &c, "slow", numbers);
  OK(TRITONSERVER_ServerInferAsync(s, c.request, NULL));
  FAILS(TRITONSERVER_ServerInferAsync(s, c.request, NULL), TRITONSERVER_ERROR_INTERNAL,
        "[request id: <id_unknown>] Invalid request state transition from EXECUTING to INITIALIZED");
  bool cancelled = true;
  OK(TRITONSERVER_InferenceRequestIsCancelled(c.request, &cancelled));
  CHECK(!cancelled);
  OK(TRITONSERVER_InferenceRequestCancel(c.request));
  OK(TRITONSERVER_InferenceRequestIsCancelled(c.request, &cancelled));
  CHECK(cancelled);
  CHECK(wait_for(&c));
  CHECK(c.count == 1 && c.released == 1);
  OK(TRITONSERVER_InferenceRequestCancel(c.request));  // too late, and harmless
  end(&c);

  new_request(s, &c, "numbers", numbers);
  c.in_callback = 1;
  OK(TRITONSERVER_ServerInferAsync(s, c.request, NULL));
  CHECK(wait_for(&c));
  end(&c);
}

typedef struct {
  char order[512];
  uint64_t last;
  int tensors, released;
} record;

static void activity_fn(TRITONSERVER_InferenceTrace* trace, TRITONSERVER_InferenceTraceActivity activity, uint64_t ns, void* userp) {
  (void)trace;
  record* r = userp;
  strcat(r->order, TRITONSERVER_InferenceTraceActivityString(activity));
  strcat(r->order, ns < r->last ? " back " : " ");
  r->last = ns;
}

static void tensor_fn(
    TRITONSERVER_InferenceTrace* trace, TRITONSERVER_InferenceTraceActivity activity, const char* name, TRITONSERVER_DataType type,
    const void* base, size_t size, const int64_t* shape, uint64_t dims, TRITONSERVER_MemoryType memory, int64_t id, void* userp) {
  (void)trace, (void)memory, (void)id;
  record* r = userp;
  bool in = activity == TRITONSERVER_TRACE_TENSOR_QUEUE_INPUT && strcmp(name, "INPUT0") == 0;
  bool out = activity == TRITONSERVER_TRACE_TENSOR_BACKEND_OUTPUT && strcmp(name, "OUTPUT0") == 0;
  r->tensors += (in || out) && type == TRITONSERVER_TYPE_INT32 && size == 16 && memcmp(base, numbers, 16) == 0 && dims == 2 && shape[1] == 4;
}

static atomic_int traces_released;

static void trace_release_fn(TRITONSERVER_InferenceTrace* trace, void* userp) {
  ((record*)userp)->released++;
  const char *model = NULL, *request = NULL;
  int64_t version = 0;
  TRITONSERVER_ErrorDelete(TRITONSERVER_InferenceTraceModelName(trace, &model));
  TRITONSERVER_ErrorDelete(TRITONSERVER_InferenceTraceRequestId(trace, &request));
  TRITONSERVER_ErrorDelete(TRITONSERVER_InferenceTraceModelVersion(trace, &version));
  bool right = strcmp(model, "numbers") == 0 && strcmp(request, "traced") == 0 && version == 1;
  TRITONSERVER_ErrorDelete(TRITONSERVER_InferenceTraceDelete(trace));
  atomic_fetch_add(&traces_released, right ? 1 : 100);
}

static void trace(TRITONSERVER_Server* s) {
  call c;
  record r = {0};
  new_request(s, &c, "numbers", numbers);
  OK(TRITONSERVER_InferenceRequestSetId(c.request, "traced"));
  TRITONSERVER_InferenceTrace* t = NULL;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  r.last = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - 1000000000u;
  OK(TRITONSERVER_InferenceTraceTensorNew(&t, TRITONSERVER_TRACE_LEVEL_TIMESTAMPS | TRITONSERVER_TRACE_LEVEL_TENSORS, 0, activity_fn, tensor_fn,
                                          trace_release_fn, &r));
  OK(TRITONSERVER_ServerInferAsync(s, c.request, t));
  CHECK(wait_for(&c));
  for (int i = 0; i < 6000 && atomic_load(&traces_released) == 0; i++) {
    usleep(10000);
  }
  CHECK(atomic_load(&traces_released) == 1 && r.released == 1);
  CHECK_TEXT(r.order, "REQUEST_START QUEUE_START COMPUTE_START COMPUTE_INPUT_END COMPUTE_OUTPUT_START COMPUTE_END REQUEST_END ");
  CHECK(r.tensors == 2);
  end(&c);

  new_request(s, &c, "numbers", numbers);
  OK(TRITONSERVER_InferenceRequestRemoveAllInputs(c.request));
  OK(TRITONSERVER_InferenceTraceNew(&t, TRITONSERVER_TRACE_LEVEL_TIMESTAMPS, 0, activity_fn, trace_release_fn, &r));
  TRITONSERVER_Error* err = TRITONSERVER_ServerInferAsync(s, c.request, t);
  CHECK(err != NULL);
  TRITONSERVER_ErrorDelete(err);
  CHECK(r.released == 1);  // the trace is the caller's
  OK(TRITONSERVER_InferenceTraceDelete(t));
  end(&c);
}

// json fails the test unless a message contains a text.
static void json(TRITONSERVER_Message* m, const char* want) {
  const char* base = NULL;
  size_t size = 0;
  OK(TRITONSERVER_MessageSerializeToJson(m, &base, &size));
  if (strlen(base) != size || strstr(base, want) == NULL) {
    fail(__FILE__, __LINE__, "%s: no %s", base, want);
  }
  OK(TRITONSERVER_MessageDelete(m));
}

static void questions(TRITONSERVER_Server* s) {
  bool yes = false;
  OK(TRITONSERVER_ServerIsLive(s, &yes));
  CHECK(yes);
  yes = false;
  OK(TRITONSERVER_ServerIsReady(s, &yes));
  CHECK(yes);
  yes = false;
  OK(TRITONSERVER_ServerModelIsReady(s, "numbers", 1, &yes));
  CHECK(yes);
  OK(TRITONSERVER_ServerModelIsReady(s, "none", -1, &yes));
  CHECK(!yes);
  uint32_t flags = 0;
  void* p = &flags;
  OK(TRITONSERVER_ServerModelBatchProperties(s, "numbers", -1, &flags, &p));
  CHECK(flags == TRITONSERVER_BATCH_FIRST_DIM && p == NULL);
  OK(TRITONSERVER_ServerModelBatchProperties(s, "repeat", -1, &flags, NULL));
  CHECK(flags == TRITONSERVER_BATCH_UNKNOWN);
  OK(TRITONSERVER_ServerModelTransactionProperties(s, "numbers", -1, &flags, &p));
  CHECK(flags == TRITONSERVER_TXN_ONE_TO_ONE);
  TRITONSERVER_Message* m = NULL;
  OK(TRITONSERVER_ServerMetadata(s, &m));
  json(m, "{\"name\":\"in C\",\"version\":");
  OK(TRITONSERVER_ServerModelMetadata(s, "numbers", -1, &m));
  json(m, "\"inputs\":[{\"name\":\"INPUT0\",\"datatype\":\"INT32\",\"shape\":[-1,4]}]");
  OK(TRITONSERVER_ServerModelConfig(s, "numbers", -1, 1, &m));
  json(m, "\"max_batch_size\":8");
  FAILS(TRITONSERVER_ServerModelConfig(s, "numbers", -1, 2, &m), INVALID,
        "model configuration version 2 not supported, supported versions are: 1");
  OK(TRITONSERVER_ServerModelStatistics(s, "numbers", -1, &m));
  json(m, "{\"model_stats\":[{\"name\":\"numbers\",\"version\":\"1\"");
  OK(TRITONSERVER_ServerModelStatistics(s, "", -1, &m));
  json(m, "\"name\":\"repeat\"");
  OK(TRITONSERVER_ServerModelIndex(s, TRITONSERVER_INDEX_FLAG_READY, &m));
  json(m, "{\"name\":\"numbers\",\"version\":\"1\",\"state\":\"READY\"}");
  TRITONSERVER_Metrics* metrics = NULL;
  const char* text = NULL;
  size_t size = 0;
  OK(TRITONSERVER_ServerMetrics(s, &metrics));
  OK(TRITONSERVER_MetricsFormatted(metrics, TRITONSERVER_METRIC_PROMETHEUS, &text, &size));
  CHECK(strlen(text) == size && strstr(text, "nv_inference_request_success{model=\"numbers\",version=\"1\"} ") != NULL);
  CHECK(strstr(text, "nv_cpu_utilization") != NULL);
  FAILS(TRITONSERVER_MetricsFormatted(metrics, (TRITONSERVER_MetricFormat)1, &text, &size), INVALID, "unknown metrics format '1'");
  OK(TRITONSERVER_MetricsDelete(metrics));
  FAILS(TRITONSERVER_ServerRegisterModelRepository(s, "/r", NULL, 1), INVALID,
        "model mappings are not provided while mapping count is non-zero");
}

// repositories registers the server's repository once more, under a path and a name of its own.
static void repositories(TRITONSERVER_Server* s, const char* repository) {
  FAILS(TRITONSERVER_ServerRegisterModelRepository(s, "/r", NULL, 0), INVALID, "failed to register '/r', repository not found");
  FAILS(TRITONSERVER_ServerUnregisterModelRepository(s, "/r"), INVALID, "failed to unregister '/r', repository not found");
  char again[512];
  snprintf(again, sizeof again, "%s/.", repository);
  TRITONSERVER_Parameter* named = TRITONSERVER_ParameterNew("extra", TRITONSERVER_PARAMETER_STRING, "mapped");
  int64_t one = 1;
  TRITONSERVER_Parameter* number = TRITONSERVER_ParameterNew("extra", TRITONSERVER_PARAMETER_INT, &one);
  const TRITONSERVER_Parameter *names[] = {named, named}, *wrong[] = {number};
  FAILS(TRITONSERVER_ServerRegisterModelRepository(s, again, wrong, 1), INVALID,
        "Mapped model name must be a string, found another type for extra");
  FAILS(TRITONSERVER_ServerRegisterModelRepository(s, again, names, 2), INVALID,
        "failed to register 'mapped', there is a conflicting mapping for 'mapped'");
  bool ready = false;
  OK(TRITONSERVER_ServerRegisterModelRepository(s, again, names, 1));
  OK(TRITONSERVER_ServerLoadModel(s, "mapped"));
  OK(TRITONSERVER_ServerModelIsReady(s, "mapped", -1, &ready));
  CHECK(ready);
  OK(TRITONSERVER_ServerUnloadModel(s, "mapped"));
  OK(TRITONSERVER_ServerUnregisterModelRepository(s, again));
  TRITONSERVER_ParameterDelete(named);
  TRITONSERVER_ParameterDelete(number);
}

static const char override[] =
    "{\"name\":\"extra\",\"backend\":\"identity\",\"max_batch_size\":2,\"input\":[{\"name\":\"INPUT0\",\"data_type\":\"TYPE_INT32\",\"dims\":[4]}],"
    "\"output\":[{\"name\":\"OUTPUT0\",\"data_type\":\"TYPE_INT32\",\"dims\":[4]}]}";

static void control(TRITONSERVER_Server* s) {
  TRITONSERVER_Message* m = NULL;
  bool ready = true;
  OK(TRITONSERVER_ServerLoadModel(s, "extra"));
  OK(TRITONSERVER_ServerModelIsReady(s, "extra", -1, &ready));
  CHECK(ready);
  TRITONSERVER_Parameter* config = TRITONSERVER_ParameterNew("config", TRITONSERVER_PARAMETER_STRING, override);
  TRITONSERVER_Parameter* file = TRITONSERVER_ParameterBytesNew("file:1/data", "content", 7);
  TRITONSERVER_Parameter* odd = TRITONSERVER_ParameterNew("odd", TRITONSERVER_PARAMETER_STRING, "x");
  const TRITONSERVER_Parameter *one[] = {config}, *two[] = {config, file}, *wrong[] = {odd};
  OK(TRITONSERVER_ServerLoadModelWithParameters(s, "extra", one, 1));
  OK(TRITONSERVER_ServerModelConfig(s, "extra", -1, 1, &m));
  json(m, "\"max_batch_size\":2");
  OK(TRITONSERVER_ServerLoadModelWithParameters(s, "extra", two, 2));
  FAILS(TRITONSERVER_ServerLoadModelWithParameters(s, "extra", wrong, 1), INVALID, "Unrecognized load parameter 'odd' with type 'STRING'");
  FAILS(TRITONSERVER_ServerLoadModelWithParameters(s, "extra", NULL, 1), INVALID,
        "load parameters are not provided while parameter count is non-zero");
  TRITONSERVER_ParameterDelete(config);
  TRITONSERVER_ParameterDelete(file);
  TRITONSERVER_ParameterDelete(odd);
  OK(TRITONSERVER_ServerUnloadModel(s, "extra"));
  OK(TRITONSERVER_ServerUnloadModelAndDependents(s, "extra"));
  FAILS(TRITONSERVER_ServerPollModelRepository(s), TRITONSERVER_ERROR_UNAVAILABLE, "polling is disabled");
}

#define THREADS 4
#define REQUESTS 200

static void* load(void* server) {
  for (int i = 0; i < REQUESTS && *failure == 0; i++) {
    call c;
    new_request(server, &c, "numbers", numbers);
    TRITONSERVER_Error* err = TRITONSERVER_ServerInferAsync(server, c.request, NULL);
    if (err != NULL || !wait_for(&c) || c.count != 1 || c.released != 1) {
      fail(__FILE__, __LINE__, "request %d: %s", i, TRITONSERVER_ErrorMessage(err));
      return NULL;
    }
    end(&c);
  }
  return NULL;
}

static void concurrent(TRITONSERVER_Server* s) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    CHECK(pthread_create(&threads[i], NULL, load, s) == 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
  }
}

// options calls all functions of options.
static void options(TRITONSERVER_ServerOptions* o, const char* repository) {
  OK(TRITONSERVER_ServerOptionsSetServerId(o, "in C"));
  OK(TRITONSERVER_ServerOptionsSetModelRepositoryPath(o, repository));
  OK(TRITONSERVER_ServerOptionsSetModelControlMode(o, TRITONSERVER_MODEL_CONTROL_EXPLICIT));
  FAILS(TRITONSERVER_ServerOptionsSetModelControlMode(o, (TRITONSERVER_ModelControlMode)3), INVALID, "unknown control mode '3'");
  OK(TRITONSERVER_ServerOptionsSetStartupModel(o, "numbers"));
  OK(TRITONSERVER_ServerOptionsSetStartupModel(o, "repeat"));
  OK(TRITONSERVER_ServerOptionsSetStartupModel(o, "slow"));
  OK(TRITONSERVER_ServerOptionsSetStrictModelConfig(o, false));
  OK(TRITONSERVER_ServerOptionsSetModelConfigName(o, ""));
  OK(TRITONSERVER_ServerOptionsSetRateLimiterMode(o, TRITONSERVER_RATE_LIMIT_EXEC_COUNT));
  FAILS(TRITONSERVER_ServerOptionsSetRateLimiterMode(o, (TRITONSERVER_RateLimitMode)2), INVALID, "unknown rate limit mode '2'");
  OK(TRITONSERVER_ServerOptionsAddRateLimiterResource(o, "R", 3, -1));
  OK(TRITONSERVER_ServerOptionsAddRateLimiterResource(o, "R", 2, -1));
  OK(TRITONSERVER_ServerOptionsSetPinnedMemoryPoolByteSize(o, 1 << 20));
  OK(TRITONSERVER_ServerOptionsSetCudaMemoryPoolByteSize(o, 0, 1 << 20));
  OK(TRITONSERVER_ServerOptionsSetCudaVirtualAddressSize(o, 0, 1 << 20));
  OK(TRITONSERVER_ServerOptionsSetResponseCacheByteSize(o, 0));
  OK(TRITONSERVER_ServerOptionsSetResponseCacheByteSize(o, 1 << 20));
  OK(TRITONSERVER_ServerOptionsSetCacheConfig(o, "local", "{\"size\": 1048576}"));
  OK(TRITONSERVER_ServerOptionsSetCacheDirectory(o, "/none"));
  OK(TRITONSERVER_ServerOptionsSetMinSupportedComputeCapability(o, 7.5));
  OK(TRITONSERVER_ServerOptionsSetExitOnError(o, true));
  OK(TRITONSERVER_ServerOptionsSetStrictReadiness(o, true));
  OK(TRITONSERVER_ServerOptionsSetExitTimeout(o, 20));
  OK(TRITONSERVER_ServerOptionsSetBufferManagerThreadCount(o, 2));
  OK(TRITONSERVER_ServerOptionsSetModelLoadThreadCount(o, 2));
  OK(TRITONSERVER_ServerOptionsSetModelLoadRetryCount(o, 1));
  OK(TRITONSERVER_ServerOptionsSetModelNamespacing(o, false));
  OK(TRITONSERVER_ServerOptionsSetEnablePeerAccess(o, true));
  OK(TRITONSERVER_ServerOptionsSetMetrics(o, true));
  OK(TRITONSERVER_ServerOptionsSetGpuMetrics(o, false));
  OK(TRITONSERVER_ServerOptionsSetCpuMetrics(o, true));
  OK(TRITONSERVER_ServerOptionsSetMetricsInterval(o, 1000));
  OK(TRITONSERVER_ServerOptionsSetMetricsConfig(o, "", "summary_latencies", "true"));
  OK(TRITONSERVER_ServerOptionsSetBackendDirectory(o, "/none"));
  OK(TRITONSERVER_ServerOptionsSetRepoAgentDirectory(o, "/none"));
  FAILS(TRITONSERVER_ServerOptionsSetModelLoadDeviceLimit(o, TRITONSERVER_INSTANCEGROUPKIND_GPU, -1, 0.5), INVALID,
        "expects device ID >= 0, got -1");
  FAILS(TRITONSERVER_ServerOptionsSetModelLoadDeviceLimit(o, TRITONSERVER_INSTANCEGROUPKIND_GPU, 0, 1.5), INVALID,
        "expects limit fraction to be in range [0.0, 1.0], got 1.500000");
  FAILS(TRITONSERVER_ServerOptionsSetModelLoadDeviceLimit(o, TRITONSERVER_INSTANCEGROUPKIND_CPU, 0, 0.5), INVALID,
        "given device kind is not supported, got: CPU");
  OK(TRITONSERVER_ServerOptionsSetModelLoadDeviceLimit(o, TRITONSERVER_INSTANCEGROUPKIND_GPU, 0, 0.5));
  OK(TRITONSERVER_ServerOptionsSetBackendConfig(o, "", "default-max-batch-size", "8"));
  OK(TRITONSERVER_ServerOptionsSetBackendConfig(o, "identity", "k", "v"));
  OK(TRITONSERVER_ServerOptionsSetHostPolicy(o, "p", "numa-node", "0"));
  FAILS(TRITONSERVER_ServerOptionsSetHostPolicy(o, "p", "cores", "0"), TRITONSERVER_ERROR_UNSUPPORTED,
        "Unsupported host policy setting 'cores' is specified, supported settings are 'numa-node', 'cpu-cores'");
  OK(TRITONSERVER_ServerOptionsSetLogInfo(o, true));
  OK(TRITONSERVER_ServerOptionsSetLogWarn(o, true));
  OK(TRITONSERVER_ServerOptionsSetLogError(o, true));
  OK(TRITONSERVER_ServerOptionsSetLogVerbose(o, 1));
  CHECK(TRITONSERVER_LogIsEnabled(TRITONSERVER_LOG_VERBOSE));
  OK(TRITONSERVER_ServerOptionsSetLogVerbose(o, 0));
  CHECK(!TRITONSERVER_LogIsEnabled(TRITONSERVER_LOG_VERBOSE));
  OK(TRITONSERVER_ServerOptionsSetLogFormat(o, TRITONSERVER_LOG_DEFAULT));
  char file[512];
  snprintf(file, sizeof file, "%s/../log", repository);
  OK(TRITONSERVER_ServerOptionsSetLogFile(o, file));
}

static void without_models(void) {
  TRITONSERVER_ServerOptions* o = NULL;
  TRITONSERVER_Server* s = NULL;
  OK(TRITONSERVER_ServerOptionsNew(&o));
  FAILS(TRITONSERVER_ServerNew(&s, o), INVALID, "--model-repository must be specified");
  OK(TRITONSERVER_ServerOptionsSetCacheConfig(o, "local", "{\"size\": 1048576}"));
  OK(TRITONSERVER_ServerOptionsSetCacheConfig(o, "redis", "{}"));
  FAILS(TRITONSERVER_ServerNew(&s, o), INVALID, "found multiple cache configurations, but only a single cache is currently supported");
  OK(TRITONSERVER_ServerOptionsDelete(o));
  OK(TRITONSERVER_ServerOptionsDelete(NULL));
  OK(TRITONSERVER_ServerDelete(NULL));
  OK(TRITONSERVER_ServerStop(NULL));
}

// polled is a second server, which is beside the first, polls and stops twice.
static void polled(const char* repository) {
  TRITONSERVER_ServerOptions* o = NULL;
  TRITONSERVER_Server* s = NULL;
  OK(TRITONSERVER_ServerOptionsNew(&o));
  OK(TRITONSERVER_ServerOptionsSetModelRepositoryPath(o, repository));
  OK(TRITONSERVER_ServerOptionsSetMetrics(o, false));
  OK(TRITONSERVER_ServerNew(&s, o));
  OK(TRITONSERVER_ServerOptionsDelete(o));
  OK(TRITONSERVER_ServerPollModelRepository(s));
  TRITONSERVER_Metrics* metrics = NULL;
  const char* text = NULL;
  size_t size = 0;
  OK(TRITONSERVER_ServerMetrics(s, &metrics));
  FAILS(TRITONSERVER_MetricsFormatted(metrics, TRITONSERVER_METRIC_PROMETHEUS, &text, &size), TRITONSERVER_ERROR_UNSUPPORTED,
        "metrics not supported");
  OK(TRITONSERVER_MetricsDelete(metrics));
  OK(TRITONSERVER_ServerSetExitTimeout(s, 5));
  OK(TRITONSERVER_ServerStop(s));
  bool live = true;
  OK(TRITONSERVER_ServerIsReady(s, &live));
  CHECK(!live);
  OK(TRITONSERVER_ServerStop(s));
  OK(TRITONSERVER_ServerDelete(s));
}

char* run(const char* repository) {
  *failure = 0;
  STEP(without_models());
  if (TRITONSERVER_ResponseAllocatorNew(&allocator, alloc_fn, free_fn, start_fn) != NULL ||
      TRITONSERVER_ResponseAllocatorSetQueryFunction(allocator, query_fn) != NULL ||
      TRITONSERVER_ResponseAllocatorSetBufferAttributesFunction(allocator, attributes_fn) != NULL) {
    return strdup("no allocator");
  }
  TRITONSERVER_ServerOptions* o = NULL;
  TRITONSERVER_Server* s = NULL;
  TRITONSERVER_ErrorDelete(TRITONSERVER_ServerOptionsNew(&o));
  STEP(options(o, repository));
  TRITONSERVER_Error* err = TRITONSERVER_ServerNew(&s, o);
  if (err != NULL) {
    return strdup(TRITONSERVER_ErrorMessage(err));
  }
  TRITONSERVER_ErrorDelete(TRITONSERVER_ServerOptionsDelete(o));
  STEP(inference(s));
  STEP(properties(s));
  STEP(raw(s));
  STEP(refused(s));
  STEP(failing(s));
  STEP(decoupled(s));
  STEP(held(s));
  STEP(deleted(s));
  STEP(trace(s));
  STEP(questions(s));
  STEP(control(s));
  STEP(repositories(s, repository));
  STEP(concurrent(s));
  STEP(polled(repository));
  err = TRITONSERVER_ServerDelete(s);
  if (err != NULL) {
    return strdup(TRITONSERVER_ErrorMessage(err));
  }
  TRITONSERVER_ErrorDelete(TRITONSERVER_ResponseAllocatorDelete(allocator));
  TRITONSERVER_ErrorDelete(TRITONSERVER_ServerOptionsSetLogFile(NULL, NULL));
  return NULL;
}

#ifdef PROGRAM
int main(int count, char** arguments) {
  char* failed = count == 2 ? run(arguments[1]) : strdup("the only argument is a model repository");
  if (failed != NULL) {
    fprintf(stderr, "%s\n", failed);
    return 1;
  }
  puts("all functions work");
  return 0;
}
#endif
