// What the server gives to a cache library, and how it calls the library. Only these types and
// functions cross between Go and C.
#pragma once

#include "triton/core/tritoncache.h"

enum {
	TRT_CACHE_OK,
	TRT_CACHE_NOT_FOUND, // of a lookup
	TRT_CACHE_EXISTS,    // of an insertion
	TRT_CACHE_UNCOPIED,  // a lookup succeeded without TRITONCACHE_Copy
	TRT_CACHE_ERROR,     // code and message say which
};

enum { TRT_CACHE_KEY = 65 }; // with the end of the text

// The functions of a library, and its cache.
struct trt_cache {
	void *initialize, *finalize, *lookup, *insert;
	TRITONCACHE_Cache *instance;
};

// One call of a library at a time. The library gets pointers to it, which it must not use after
// the call; the memory stays valid, so that a library that does is refused and not a crash.
struct trt_cache_call;

struct trt_cache_call *trt_cache_call_new(uintptr_t owner);
void trt_cache_call_end(struct trt_cache_call *call);
char *trt_cache_call_key(struct trt_cache_call *call);

// These return a result from above. The caller frees the message of an error.
int trt_cache_initialize(struct trt_cache *cache, const char *config, int *code, char **message);
int trt_cache_finalize(struct trt_cache *cache, int *code, char **message);
int trt_cache_lookup(struct trt_cache *cache, struct trt_cache_call *call, int *code, char **message);
int trt_cache_insert(struct trt_cache *cache, struct trt_cache_call *call, const void *value, size_t size, int *code, char **message);
