//go:build cgo && linux

#include <stdlib.h>
#include <string.h>

#include "entry.h"

#pragma weak TRITONSERVER_ErrorCode
#pragma weak TRITONSERVER_ErrorMessage
#pragma weak TRITONSERVER_ErrorDelete

typedef TRITONSERVER_Error *(*initialize_function)(TRITONCACHE_Cache **, const char *);
typedef TRITONSERVER_Error *(*finalize_function)(TRITONCACHE_Cache *);
typedef TRITONSERVER_Error *(*access_function)(TRITONCACHE_Cache *, const char *, TRITONCACHE_CacheEntry *, TRITONCACHE_Allocator *);

// outcome takes over the error of a library.
static int outcome(TRITONSERVER_Error *error, int *code, char **message) {
	if (!error) {
		return TRT_CACHE_OK;
	}
	const char *text = TRITONSERVER_ErrorMessage(error);
	*code = TRITONSERVER_ErrorCode(error);
	*message = strdup(text ? text : "");
	TRITONSERVER_ErrorDelete(error);
	return TRT_CACHE_ERROR;
}

int trt_cache_initialize(struct trt_cache *cache, const char *config, int *code, char **message) {
	return outcome(((initialize_function)cache->initialize)(&cache->instance, config), code, message);
}

int trt_cache_finalize(struct trt_cache *cache, int *code, char **message) {
	return outcome(((finalize_function)cache->finalize)(cache->instance), code, message);
}

// The calls that nobody uses. They are used again and never freed: a thread of a library may copy long after
// its function has returned, even after its cache has ended, and must find that the call is over.
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
static struct trt_cache_call *idle;

struct trt_cache_call *trt_cache_call_new(uintptr_t owner) {
	pthread_mutex_lock(&idle_lock);
	struct trt_cache_call *call = idle;
	if (call) {
		idle = call->next;
	}
	pthread_mutex_unlock(&idle_lock);
	if (!call) {
		call = calloc(1, sizeof *call);
		if (!call) {
			return NULL;
		}
		pthread_mutex_init(&call->entry.lock, NULL);
		pthread_cond_init(&call->entry.copied, NULL);
	}
	call->allocator.owner = owner; // read only while the call is active
	return call;
}

void trt_cache_call_end(struct trt_cache_call *call) {
	if (!call) {
		return;
	}
	pthread_mutex_lock(&idle_lock);
	call->next = idle;
	idle = call;
	pthread_mutex_unlock(&idle_lock);
}

char *trt_cache_call_key(struct trt_cache_call *call) { return call->key; }

// access calls a function of the library with a fresh entry. Only in between may the library copy:
// a copy that another thread of it has begun ends before the memory goes elsewhere.
static TRITONSERVER_Error *access_library(void *function, TRITONCACHE_Cache *instance, struct trt_cache_call *call) {
	pthread_mutex_lock(&call->entry.lock);
	call->allocator.active = 1;
	call->allocator.copied = 0;
	pthread_mutex_unlock(&call->entry.lock);
	TRITONSERVER_Error *error = ((access_function)function)(instance, call->key, &call->entry, &call->allocator);
	pthread_mutex_lock(&call->entry.lock);
	call->allocator.active = 0;
	while (call->entry.copying > 0) {
		pthread_cond_wait(&call->entry.copied, &call->entry.lock);
	}
	call->entry.count = 0;
	pthread_mutex_unlock(&call->entry.lock);
	return error;
}

// expected reports an error that is no failure, and deletes it.
static int expected(TRITONSERVER_Error *error, TRITONSERVER_Error_Code code) {
	if (!error || TRITONSERVER_ErrorCode(error) != code) {
		return 0;
	}
	TRITONSERVER_ErrorDelete(error);
	return 1;
}

int trt_cache_lookup(struct trt_cache *cache, struct trt_cache_call *call, int *code, char **message) {
	call->allocator.value = NULL;
	TRITONSERVER_Error *error = access_library(cache->lookup, cache->instance, call);
	if (expected(error, TRITONSERVER_ERROR_NOT_FOUND)) {
		return TRT_CACHE_NOT_FOUND;
	}
	if (!error && !call->allocator.copied) {
		return TRT_CACHE_UNCOPIED;
	}
	return outcome(error, code, message);
}

int trt_cache_insert(struct trt_cache *cache, struct trt_cache_call *call, const void *value, size_t size, int *code, char **message) {
	if (!call->entry.capacity) {
		call->entry.buffers = calloc(1, sizeof *call->entry.buffers);
		if (!call->entry.buffers) {
			*code = TRITONSERVER_ERROR_UNAVAILABLE;
			*message = strdup("no memory for an entry of the cache");
			return TRT_CACHE_ERROR;
		}
		call->entry.capacity = 1;
	}
	call->entry.buffers[0] = (struct trt_buffer){NULL, size};
	call->entry.count = 1;
	call->allocator.value = value;
	call->allocator.size = size;
	TRITONSERVER_Error *error = access_library(cache->insert, cache->instance, call);
	if (expected(error, TRITONSERVER_ERROR_ALREADY_EXISTS)) {
		return TRT_CACHE_EXISTS;
	}
	return outcome(error, code, message);
}
