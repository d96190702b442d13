//go:build cgo && linux

#include "entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "_cgo_export.h"

// The functions of the C API that other packages of this program define. The references are
// weak, because cgo links each package alone before it links the program.
#pragma weak TRITONSERVER_ErrorNew
#pragma weak TRITONSERVER_BufferAttributesByteSize
#pragma weak TRITONSERVER_BufferAttributesMemoryType
#pragma weak TRITONSERVER_BufferAttributesSetByteSize
#pragma weak TRITONSERVER_BufferAttributesSetMemoryType
#pragma weak TRITONSERVER_BufferAttributesSetMemoryTypeId

static const char only_cpu[] = "Only buffers in CPU memory are allowed in cache currently";

static const char late_copy[] = "TRITONCACHE_Copy was called after the lookup or insertion had returned";

static TRITONSERVER_Error *invalid(const char *text) { return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, text); }

static TRITONSERVER_Error *internal(const char *text) { return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, text); }

static TRITONSERVER_Error *differs(const char *what, size_t expected, size_t received) {
	char text[160];
	snprintf(text, sizeof text, "%s does not match. Expected: %zu, received: %zu", what, expected, received);
	return internal(text);
}

TRITONSERVER_Error *TRITONCACHE_ApiVersion(uint32_t *major, uint32_t *minor) {
	if (!major || !minor) {
		return invalid("major or minor was nullptr");
	}
	*major = TRITONCACHE_API_VERSION_MAJOR;
	*minor = TRITONCACHE_API_VERSION_MINOR;
	return NULL;
}

TRITONSERVER_Error *TRITONCACHE_CacheEntryBufferCount(TRITONCACHE_CacheEntry *entry, size_t *count) {
	if (!entry || !count) {
		return invalid("entry was nullptr");
	}
	pthread_mutex_lock(&entry->lock);
	*count = entry->count;
	pthread_mutex_unlock(&entry->lock);
	return NULL;
}

static TRITONSERVER_Error *append(TRITONCACHE_CacheEntry *entry, void *base, size_t size) {
	TRITONSERVER_Error *error = NULL;
	pthread_mutex_lock(&entry->lock);
	if (entry->count == entry->capacity) {
		size_t capacity = entry->capacity ? 2 * entry->capacity : 1;
		struct trt_buffer *larger = realloc(entry->buffers, capacity * sizeof *larger);
		if (larger) {
			entry->buffers = larger;
			entry->capacity = capacity;
		}
	}
	if (entry->count < entry->capacity) {
		entry->buffers[entry->count++] = (struct trt_buffer){base, size};
	} else {
		error = TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE, "no memory for another buffer of the entry");
	}
	pthread_mutex_unlock(&entry->lock);
	return error;
}

TRITONSERVER_Error *TRITONCACHE_CacheEntryAddBuffer(TRITONCACHE_CacheEntry *entry, void *base, TRITONSERVER_BufferAttributes *attributes) {
	if (!entry || !base || !attributes) {
		return invalid("entry, base, or attrs was nullptr");
	}
	size_t size = 0;
	TRITONSERVER_BufferAttributesByteSize(attributes, &size);
	if (!size) {
		return invalid("Buffer byte size was zero");
	}
	TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
	TRITONSERVER_BufferAttributesMemoryType(attributes, &type);
	if (type != TRITONSERVER_MEMORY_CPU && type != TRITONSERVER_MEMORY_CPU_PINNED) {
		return invalid(only_cpu);
	}
	return append(entry, base, size);
}

TRITONSERVER_Error *TRITONCACHE_CacheEntryGetBuffer(TRITONCACHE_CacheEntry *entry, size_t index, void **base, TRITONSERVER_BufferAttributes *attributes) {
	if (!entry || !base || !attributes) {
		return invalid("entry, base, or attrs was nullptr");
	}
	pthread_mutex_lock(&entry->lock);
	int known = index < entry->count;
	struct trt_buffer buffer = known ? entry->buffers[index] : (struct trt_buffer){0};
	pthread_mutex_unlock(&entry->lock);
	if (!known) {
		return invalid("index was greater than count");
	}
	*base = buffer.base;
	TRITONSERVER_BufferAttributesSetByteSize(attributes, buffer.size);
	TRITONSERVER_BufferAttributesSetMemoryType(attributes, TRITONSERVER_MEMORY_CPU);
	TRITONSERVER_BufferAttributesSetMemoryTypeId(attributes, 0);
	return NULL;
}

TRITONSERVER_Error *TRITONCACHE_CacheEntrySetBuffer(TRITONCACHE_CacheEntry *entry, size_t index, void *base, TRITONSERVER_BufferAttributes *attributes) {
	if (!entry) {
		return invalid("entry was nullptr");
	}
	size_t size = 0;
	TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
	if (attributes) {
		TRITONSERVER_BufferAttributesByteSize(attributes, &size);
		TRITONSERVER_BufferAttributesMemoryType(attributes, &type);
	}
	if (type != TRITONSERVER_MEMORY_CPU && type != TRITONSERVER_MEMORY_CPU_PINNED) {
		return invalid(only_cpu);
	}
	pthread_mutex_lock(&entry->lock);
	int known = index < entry->count;
	if (known) {
		entry->buffers[index].base = base;
		if (attributes) {
			entry->buffers[index].size = size;
		}
	}
	pthread_mutex_unlock(&entry->lock);
	return known ? NULL : invalid("index was greater than count");
}

// begin_copy checks that an entry may be copied now, and takes its one buffer. It allows one copy of
// each entry.
static TRITONSERVER_Error *begin_copy(TRITONCACHE_Allocator *allocator, TRITONCACHE_CacheEntry *entry, struct trt_buffer *buffer) {
	if (!allocator->active) {
		return internal(late_copy);
	}
	if (allocator->copied) {
		return internal("TRITONCACHE_Copy was called twice for one entry");
	}
	if (entry->count != 1) {
		return differs("Expected number of responses in cache", 1, entry->count);
	}
	*buffer = entry->buffers[0];
	if (!buffer->base) {
		return internal("buffer was nullptr");
	}
	if (allocator->value && buffer->size != allocator->size) {
		return differs("Expected size of buffer in cache", allocator->size, buffer->size);
	}
	allocator->copied = 1;
	return NULL;
}

TRITONSERVER_Error *TRITONCACHE_Copy(TRITONCACHE_Allocator *allocator, TRITONCACHE_CacheEntry *entry) {
	if (!allocator || !entry) {
		return invalid("allocator or entry was nullptr");
	}
	struct trt_buffer buffer = {0};
	pthread_mutex_lock(&entry->lock);
	TRITONSERVER_Error *error = begin_copy(allocator, entry, &buffer);
	if (error) {
		pthread_mutex_unlock(&entry->lock);
		return error;
	}
	entry->copying++;
	void *memory = NULL;
	if (!allocator->value) { // the lock is not held while Go runs
		pthread_mutex_unlock(&entry->lock);
		memory = trtCacheMemory(allocator->owner, buffer.size);
		pthread_mutex_lock(&entry->lock);
		if (!memory) {
			error = TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE, "no memory for a response from the cache");
			allocator->copied = 0;
		}
	}
	if (!error && !allocator->active) { // another thread of the library has returned meanwhile
		error = internal(late_copy);
		allocator->copied = 0;
	}
	if (!error) {
		if (allocator->value) {
			memcpy(buffer.base, allocator->value, buffer.size);
		} else {
			memcpy(memory, buffer.base, buffer.size);
		}
	}
	if (--entry->copying == 0) {
		pthread_cond_signal(&entry->copied);
	}
	pthread_mutex_unlock(&entry->lock);
	return error;
}
