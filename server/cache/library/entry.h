// The structs behind the opaque types of the cache API.
#pragma once

#include <pthread.h>

#include "host.h"

struct trt_buffer {
	void *base; // NULL: the library has not set it
	size_t size;
};

struct TRITONCACHE_CacheEntry {
	pthread_mutex_t lock; // a library may fill an entry from several threads
	size_t count, capacity;
	struct trt_buffer *buffers;
	int copying; // the call does not end before it is 0
	pthread_cond_t copied;
};

// The allocator of a lookup copies the value out of the entry's buffer, that of an insertion into
// it.
struct TRITONCACHE_Allocator {
	uintptr_t owner;   // of the call; Go gives it memory
	const void *value; // of an insertion; NULL: a lookup
	size_t size;
	int active, copied;
};

struct trt_cache_call {
	TRITONCACHE_CacheEntry entry;
	TRITONCACHE_Allocator allocator;
	char key[TRT_CACHE_KEY];
	struct trt_cache_call *next; // idle
};
