// Requests in great numbers, each with all that a request may have: what they leave behind is
// measured between the calls of drive.
#include "growth.h"

#include <stdatomic.h>

#include "check.h"

static TRITONSERVER_Server* server;
static TRITONSERVER_ResponseAllocator* allocator;

enum { THREADS = 4, WINDOW = 8 };

// A client sends requests, WINDOW at a time.
typedef struct {
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int open;
  long requests;
} client;

typedef struct {
  client* client;
  atomic_int left;  // the response and the release
  int how;
  int32_t data[16];
  char memory[sizeof(int32_t[16])];
} flight;

static TRITONSERVER_Error* alloc_fn(
    TRITONSERVER_ResponseAllocator* a, const char* name, size_t size, TRITONSERVER_MemoryType type, int64_t id, void* userp, void** buffer,
    void** buffer_userp, TRITONSERVER_MemoryType* actual, int64_t* actual_id) {
  (void)a, (void)name, (void)type, (void)id;
  flight* f = userp;
  if (size > sizeof f->memory) {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE, "the output is too large");
  }
  *buffer = f->memory;
  *buffer_userp = NULL;
  *actual = TRITONSERVER_MEMORY_CPU;
  *actual_id = 0;
  return NULL;
}

static TRITONSERVER_Error* free_fn(
    TRITONSERVER_ResponseAllocator* a, void* buffer, void* userp, size_t size, TRITONSERVER_MemoryType type, int64_t id) {
  (void)a, (void)buffer, (void)userp, (void)size, (void)type, (void)id;
  return NULL;
}

static pthread_mutex_t checking = PTHREAD_MUTEX_INITIALIZER;

static void wrong(const char* what, const char* got) {
  pthread_mutex_lock(&checking);
  fail(__FILE__, __LINE__, "%s: %s", what, got);
  pthread_mutex_unlock(&checking);
}

// done ends a part of a request; the last one ends the request.
static void done(flight* f) {
  if (atomic_fetch_sub(&f->left, 1) > 1) {
    return;
  }
  client* c = f->client;
  free(f);
  pthread_mutex_lock(&c->mutex);
  c->open--;
  pthread_cond_signal(&c->changed);
  pthread_mutex_unlock(&c->mutex);
}

static void complete_fn(TRITONSERVER_InferenceResponse* response, const uint32_t flags, void* userp) {
  flight* f = userp;
  TRITONSERVER_Error* err = TRITONSERVER_InferenceResponseError(response);
  const char* want = f->how == HOW_ERROR ? ERROR_TEXT : f->how == HOW_LATE ? LATE_TEXT : "";
  if (strcmp(TRITONSERVER_ErrorMessage(err), want) != 0) {
    wrong("error", TRITONSERVER_ErrorMessage(err));
  }
  TRITONSERVER_ErrorDelete(err);
  if (*want == 0 && memcmp(f->memory, f->data, sizeof f->data) != 0) {
    wrong("output", "not the input");
  }
  uint32_t count = 0;
  TRITONSERVER_ErrorDelete(TRITONSERVER_InferenceResponseParameterCount(response, &count));
  if (count != (f->how == HOW_ALL ? 3 : 0)) {
    wrong("parameters", "not as many as were set");
  }
  TRITONSERVER_ErrorDelete(TRITONSERVER_InferenceResponseDelete(response));
  if (flags & TRITONSERVER_RESPONSE_COMPLETE_FINAL) {
    done(f);
  }
}

static void release_fn(TRITONSERVER_InferenceRequest* request, const uint32_t flags, void* userp) {
  (void)flags;
  TRITONSERVER_ErrorDelete(TRITONSERVER_InferenceRequestDelete(request));
  done(userp);
}

static void send_one(client* c, long number) {
  flight* f = malloc(sizeof *f);
  f->client = c;
  f->left = 2;
  f->how = number % 16 == 15 ? HOW_LATE : (int)(number % (HOW_COUNT - 1));
  for (int i = 0; i < 16; i++) {
    f->data[i] = (int32_t)(number + i);
  }
  memset(f->memory, 0, sizeof f->memory);
  TRITONSERVER_InferenceRequest* r = NULL;
  char id[32];
  snprintf(id, sizeof id, "request %ld", number % 1000);
  int64_t shape[] = {1, 16}, how = f->how;
  bool yes = true;
  OK(TRITONSERVER_InferenceRequestNew(&r, server, "growth", -1));
  OK(TRITONSERVER_InferenceRequestSetId(r, id));
  OK(TRITONSERVER_InferenceRequestSetIntParameter(r, "how", how));
  OK(TRITONSERVER_InferenceRequestSetStringParameter(r, "text", "a text of a request"));
  OK(TRITONSERVER_InferenceRequestSetBoolParameter(r, "truth", yes));
  OK(TRITONSERVER_InferenceRequestSetReleaseCallback(r, release_fn, f));
  OK(TRITONSERVER_InferenceRequestSetResponseCallback(r, allocator, f, complete_fn, f));
  OK(TRITONSERVER_InferenceRequestAddInput(r, "INPUT0", TRITONSERVER_TYPE_INT32, shape, 2));
  OK(TRITONSERVER_InferenceRequestAppendInputData(r, "INPUT0", f->data, sizeof f->data / 2, TRITONSERVER_MEMORY_CPU, 0));
  OK(TRITONSERVER_InferenceRequestAppendInputData(r, "INPUT0", f->data + 8, sizeof f->data / 2, TRITONSERVER_MEMORY_CPU, 0));
  OK(TRITONSERVER_InferenceRequestAddRequestedOutput(r, "OUTPUT0"));
  OK(TRITONSERVER_ServerInferAsync(server, r, NULL));
}

static void* drive_one(void* p) {
  client* c = p;
  for (long n = 0; n < c->requests && *failure == 0; n++) {
    pthread_mutex_lock(&c->mutex);
    while (c->open == WINDOW) {
      pthread_cond_wait(&c->changed, &c->mutex);
    }
    c->open++;
    pthread_mutex_unlock(&c->mutex);
    send_one(c, n);
  }
  pthread_mutex_lock(&c->mutex);
  while (c->open > 0 && *failure == 0) {
    pthread_cond_wait(&c->changed, &c->mutex);
  }
  pthread_mutex_unlock(&c->mutex);
  return NULL;
}

// drive sends as many requests as its argument says.
char* drive(const char* argument) {
  client all[THREADS];
  long count = atol(argument);
  for (int k = 0; k < THREADS; k++) {
    client* c = &all[k];
    *c = (client){.requests = count / THREADS};
    pthread_mutex_init(&c->mutex, NULL);
    pthread_cond_init(&c->changed, NULL);
    pthread_create(&c->thread, NULL, drive_one, c);
  }
  for (int k = 0; k < THREADS; k++) {
    pthread_join(all[k].thread, NULL);
  }
  return *failure == 0 ? NULL : strdup(failure);
}

static void set(TRITONSERVER_ServerOptions* o, const char* folder) {
  char models[4096], backends[4096];
  snprintf(models, sizeof models, "%s/models", folder);
  snprintf(backends, sizeof backends, "%s/backends", folder);
  OK(TRITONSERVER_ServerOptionsSetModelRepositoryPath(o, models));
  OK(TRITONSERVER_ServerOptionsSetBackendDirectory(o, backends));
  OK(TRITONSERVER_ServerOptionsSetLogInfo(o, false));
  OK(TRITONSERVER_ServerOptionsSetMinSupportedComputeCapability(o, 0));
}

char* start(const char* folder) {
  TRITONSERVER_ServerOptions* o = NULL;
  TRITONSERVER_ErrorDelete(TRITONSERVER_ServerOptionsNew(&o));
  STEP(set(o, folder));
  TRITONSERVER_Error* err = TRITONSERVER_ResponseAllocatorNew(&allocator, alloc_fn, free_fn, NULL);
  if (err == NULL) {
    err = TRITONSERVER_ServerNew(&server, o);
  }
  TRITONSERVER_ErrorDelete(TRITONSERVER_ServerOptionsDelete(o));
  return err == NULL ? NULL : strdup(TRITONSERVER_ErrorMessage(err));
}

char* stop(const char* nothing) {
  (void)nothing;
  TRITONSERVER_Error* err = TRITONSERVER_ServerDelete(server);
  TRITONSERVER_ErrorDelete(TRITONSERVER_ResponseAllocatorDelete(allocator));
  return err == NULL ? NULL : strdup(TRITONSERVER_ErrorMessage(err));
}
