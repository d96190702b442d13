// A backend that uses as much of the API as a request can. The parameter "how" of a request says
// how it is answered.

#include <pthread.h>
#include <string.h>

#include "growth.h"
#include "triton/core/tritonbackend.h"

#define TRY(call) \
  do { \
    TRITONSERVER_Error* e_ = (call); \
    if (e_ != NULL) { \
      return e_; \
    } \
  } while (0)

// read reads everything of a request but its data.
static TRITONSERVER_Error* read(TRITONBACKEND_Request* r, int64_t* how) {
  const char *text, *name;
  uint32_t count;
  uint64_t number;
  TRY(TRITONBACKEND_RequestId(r, &text));
  TRY(TRITONBACKEND_RequestCorrelationId(r, &number));
  TRY(TRITONBACKEND_RequestFlags(r, &count));
  TRY(TRITONBACKEND_RequestOutputCount(r, &count));
  TRY(TRITONBACKEND_RequestOutputName(r, 0, &name));
  TRY(TRITONBACKEND_RequestParameterCount(r, &count));
  for (uint32_t k = 0; k < count; k++) {
    TRITONSERVER_ParameterType type;
    const void* value;
    TRY(TRITONBACKEND_RequestParameter(r, k, &name, &type, &value));
    if (strcmp(name, "how") == 0 && type == TRITONSERVER_PARAMETER_INT) {
      *how = *(const int64_t*)value;
    }
  }
  return NULL;
}

// fill makes the output, a copy of the input.
static TRITONSERVER_Error* fill(TRITONBACKEND_Response* p, TRITONBACKEND_Request* r, bool attributes) {
  TRITONBACKEND_Input* in;
  TRITONBACKEND_Output* out;
  TRITONSERVER_DataType type;
  const int64_t* shape;
  uint32_t dims, buffers;
  uint64_t size;
  TRY(TRITONBACKEND_RequestInput(r, "INPUT0", &in));
  TRY(TRITONBACKEND_InputProperties(in, NULL, &type, &shape, &dims, &size, &buffers));
  TRY(TRITONBACKEND_ResponseOutput(p, &out, "OUTPUT0", type, shape, dims));
  TRITONSERVER_MemoryType memory = TRITONSERVER_MEMORY_CPU;
  int64_t id = 0;
  char* to;
  TRY(TRITONBACKEND_OutputBuffer(out, (void**)&to, size, &memory, &id));
  for (uint32_t k = 0; k < buffers; k++) {
    const void* from;
    uint64_t n;
    TRITONSERVER_BufferAttributes* described;
    TRY(TRITONBACKEND_InputBuffer(in, k, &from, &n, &memory, &id));
    if (attributes) {
      TRY(TRITONBACKEND_InputBufferAttributes(in, k, &from, &described));
    }
    memcpy(to, from, n);
    to += n;
  }
  if (attributes) {
    TRITONSERVER_BufferAttributes* described;
    TRY(TRITONBACKEND_OutputBufferAttributes(out, &described));
    TRY(TRITONBACKEND_ResponseSetStringParameter(p, "text", "a text of a response"));
    TRY(TRITONBACKEND_ResponseSetIntParameter(p, "number", 1));
    TRY(TRITONBACKEND_ResponseSetBoolParameter(p, "truth", true));
  }
  return NULL;
}

static void send(TRITONBACKEND_Response* p, TRITONSERVER_Error* err) {
  TRITONSERVER_ErrorDelete(TRITONBACKEND_ResponseSend(p, TRITONSERVER_RESPONSE_COMPLETE_FINAL, err));
  TRITONSERVER_ErrorDelete(err);
}

// late answers requests that were released, one after the other, in a thread.
enum { LATE = 4096 };
static struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  TRITONBACKEND_ResponseFactory* waiting[LATE];
  int count;
  bool end;
  pthread_t thread;
} late = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void* answer_late(void* nothing) {
  (void)nothing;
  for (;;) {
    pthread_mutex_lock(&late.mutex);
    while (late.count == 0 && !late.end) {
      pthread_cond_wait(&late.changed, &late.mutex);
    }
    TRITONBACKEND_ResponseFactory* f = late.count > 0 ? late.waiting[--late.count] : NULL;
    pthread_mutex_unlock(&late.mutex);
    if (f == NULL) {
      return NULL;
    }
    TRITONBACKEND_Response* p;
    if (TRITONBACKEND_ResponseNewFromFactory(&p, f) == NULL) {
      send(p, TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE, LATE_TEXT));
    }
    TRITONSERVER_ErrorDelete(TRITONBACKEND_ResponseFactoryDelete(f));
  }
}

static TRITONSERVER_Error* answer_later(TRITONBACKEND_Request* r) {
  TRITONBACKEND_ResponseFactory* f;
  TRY(TRITONBACKEND_ResponseFactoryNew(&f, r));
  pthread_mutex_lock(&late.mutex);
  bool room = late.count < LATE;
  if (room) {
    late.waiting[late.count++] = f;
    pthread_cond_signal(&late.changed);
  }
  pthread_mutex_unlock(&late.mutex);
  return room ? NULL : TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "too many requests wait");
}

#define EXPORT __attribute__((visibility("default")))

EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* m) {
  (void)m;
  late.end = false;
  pthread_create(&late.thread, NULL, answer_late, NULL);
  return NULL;
}

EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* m) {
  (void)m;
  pthread_mutex_lock(&late.mutex);
  late.end = true;
  pthread_cond_signal(&late.changed);
  pthread_mutex_unlock(&late.mutex);
  pthread_join(late.thread, NULL);
  return NULL;
}

static TRITONSERVER_Error* answer(TRITONBACKEND_Request* r) {
  int64_t how = 0;
  TRY(read(r, &how));
  if (how == HOW_LATE) {
    return answer_later(r);
  }
  TRITONBACKEND_Response* p;
  TRY(TRITONBACKEND_ResponseNew(&p, r));
  if (how == HOW_AGAIN) {  // a response that is dropped
    TRY(fill(p, r, true));
    TRY(TRITONBACKEND_ResponseDelete(p));
    TRY(TRITONBACKEND_ResponseNew(&p, r));
  }
  send(p, how == HOW_ERROR ? TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, ERROR_TEXT) : fill(p, r, how == HOW_ALL));
  return NULL;
}

EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(
    TRITONBACKEND_ModelInstance* i, TRITONBACKEND_Request** all, const uint32_t count) {
  for (uint32_t k = 0; k < count; k++) {
    TRITONSERVER_Error* err = answer(all[k]);
    if (err != NULL) {
      TRITONBACKEND_Response* p;
      if (TRITONBACKEND_ResponseNew(&p, all[k]) == NULL) {
        send(p, err);
      }
    }
    TRITONSERVER_ErrorDelete(TRITONBACKEND_ModelInstanceReportStatistics(i, all[k], err == NULL, 1, 2, 3, 4));
    TRITONSERVER_ErrorDelete(TRITONBACKEND_RequestRelease(all[k], TRITONSERVER_REQUEST_RELEASE_ALL));
  }
  TRITONSERVER_ErrorDelete(TRITONBACKEND_ModelInstanceReportBatchStatistics(i, count, 1, 2, 3, 4));
  return NULL;
}
