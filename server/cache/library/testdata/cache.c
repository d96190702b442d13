// A cache library for tests. Its setting mode says what it does wrong; without one it is a cache
// that keeps everything.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "triton/core/tritoncache.h"

struct entry {
	struct entry *next;
	char *key;
	void *bytes;
	size_t size;
};

struct TRITONCACHE_Cache {
	char mode[64];
	struct entry *entries;
};

// What a thread of the library uses after the call.
static TRITONCACHE_CacheEntry *kept_entry;
static TRITONCACHE_Allocator *kept_allocator;
static pthread_t late;
static char gate[4096]; // a file: the thread starts when it is there

static TRITONSERVER_Error *internal(const char *text) { return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, text); }

static int is(TRITONCACHE_Cache *cache, const char *mode) { return strcmp(cache->mode, mode) == 0; }

TRITONCACHE_ISPEC TRITONSERVER_Error *TRITONCACHE_CacheInitialize(TRITONCACHE_Cache **cache, const char *config) {
	uint32_t major, minor;
	TRITONCACHE_ApiVersion(&major, &minor);
	if (major != TRITONCACHE_API_VERSION_MAJOR || minor < TRITONCACHE_API_VERSION_MINOR) {
		return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNSUPPORTED, "triton cache API version does not support this cache");
	}
	if (strstr(config, "\"mode\":\"echo\"")) {
		return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, config);
	}
	if (strstr(config, "\"mode\":\"null\"")) {
		return NULL;
	}
	if (strstr(config, "\"mode\":\"bad end\"") && strstr(config, "\"start\":\"slow\"")) {
		usleep(300 * 1000);
	}
	*cache = calloc(1, sizeof **cache);
	const char *mode = strstr(config, "\"mode\":\"");
	if (mode) {
		sscanf(mode + strlen("\"mode\":\""), "%63[^\"]", (*cache)->mode);
	}
	const char *file = strstr(config, "\"gate\":\"");
	if (file) {
		sscanf(file + strlen("\"gate\":\""), "%4095[^\"]", gate);
	}
	return NULL;
}

TRITONCACHE_ISPEC TRITONSERVER_Error *TRITONCACHE_CacheFinalize(TRITONCACHE_Cache *cache) {
	TRITONSERVER_Error *error = is(cache, "bad end") ? internal("it does not want to end") : NULL;
	while (cache->entries) {
		struct entry *e = cache->entries;
		cache->entries = e->next;
		free(e->key);
		free(e->bytes);
		free(e);
	}
	free(cache);
	return error;
}

static struct entry *find(TRITONCACHE_Cache *cache, const char *key) {
	struct entry *e = cache->entries;
	while (e && strcmp(e->key, key) != 0) {
		e = e->next;
	}
	return e;
}

static void *copy_late(void *unused) {
	while (access(gate, F_OK) != 0) {
		usleep(1000);
	}
	return TRITONCACHE_Copy(kept_allocator, kept_entry);
}

// A beside is a copy that another thread makes while, or after, a lookup returns.
struct beside {
	TRITONCACHE_CacheEntry *entry;
	TRITONCACHE_Allocator *allocator;
};

static void *copy_beside(void *p) {
	struct beside *b = p;
	TRITONSERVER_Error *error = TRITONCACHE_Copy(b->allocator, b->entry);
	if (error) {
		TRITONSERVER_ErrorDelete(error);
	}
	free(b);
	return NULL;
}

static TRITONSERVER_Error *add(TRITONCACHE_CacheEntry *entry, void *base, size_t size, TRITONSERVER_MemoryType type) {
	TRITONSERVER_BufferAttributes *attributes;
	TRITONSERVER_BufferAttributesNew(&attributes);
	TRITONSERVER_BufferAttributesSetByteSize(attributes, size);
	TRITONSERVER_BufferAttributesSetMemoryType(attributes, type);
	TRITONSERVER_Error *error = TRITONCACHE_CacheEntryAddBuffer(entry, base, attributes);
	TRITONSERVER_BufferAttributesDelete(attributes);
	return error;
}

// note appends the text of an error and deletes it.
static void note(char *report, const char *call, TRITONSERVER_Error *error) {
	size_t n = strlen(report);
	snprintf(report + n, 4096 - n, "%s: %s\n", call, error ? TRITONSERVER_ErrorMessage(error) : "ok");
	if (error) {
		TRITONSERVER_ErrorDelete(error);
	}
}

// misuse calls every function wrongly.
static TRITONSERVER_Error *misuse(TRITONCACHE_CacheEntry *entry, TRITONCACHE_Allocator *allocator) {
	char report[4096] = "", bytes[4];
	size_t count;
	void *base;
	TRITONSERVER_BufferAttributes *attributes;
	TRITONSERVER_BufferAttributesNew(&attributes);
	note(report, "version", TRITONCACHE_ApiVersion(NULL, NULL));
	note(report, "count of nothing", TRITONCACHE_CacheEntryBufferCount(NULL, &count));
	note(report, "add to nothing", TRITONCACHE_CacheEntryAddBuffer(NULL, bytes, attributes));
	note(report, "add nothing", TRITONCACHE_CacheEntryAddBuffer(entry, NULL, attributes));
	note(report, "add without attributes", TRITONCACHE_CacheEntryAddBuffer(entry, bytes, NULL));
	note(report, "add of no size", add(entry, bytes, 0, TRITONSERVER_MEMORY_CPU));
	note(report, "add of a GPU", add(entry, bytes, 4, TRITONSERVER_MEMORY_GPU));
	note(report, "get what is not there", TRITONCACHE_CacheEntryGetBuffer(entry, 0, &base, attributes));
	note(report, "get nothing", TRITONCACHE_CacheEntryGetBuffer(entry, 0, NULL, attributes));
	note(report, "set what is not there", TRITONCACHE_CacheEntrySetBuffer(entry, 0, bytes, NULL));
	note(report, "set in nothing", TRITONCACHE_CacheEntrySetBuffer(NULL, 0, bytes, NULL));
	note(report, "copy nothing", TRITONCACHE_Copy(allocator, NULL));
	note(report, "copy an empty entry", TRITONCACHE_Copy(allocator, entry));
	note(report, "add", add(entry, bytes, 4, TRITONSERVER_MEMORY_CPU_PINNED));
	TRITONSERVER_BufferAttributesSetMemoryType(attributes, TRITONSERVER_MEMORY_GPU);
	note(report, "set memory of a GPU", TRITONCACHE_CacheEntrySetBuffer(entry, 0, bytes, attributes));
	note(report, "get", TRITONCACHE_CacheEntryGetBuffer(entry, 0, &base, attributes));
	TRITONSERVER_MemoryType type;
	size_t size;
	TRITONSERVER_BufferAttributesMemoryType(attributes, &type);
	TRITONSERVER_BufferAttributesByteSize(attributes, &size);
	snprintf(report + strlen(report), sizeof report - strlen(report), "got: %d of %zu, type %d\n", base == bytes, size, (int)type);
	note(report, "set without memory", TRITONCACHE_CacheEntrySetBuffer(entry, 0, NULL, NULL));
	note(report, "copy without memory", TRITONCACHE_Copy(allocator, entry));
	note(report, "set", TRITONCACHE_CacheEntrySetBuffer(entry, 0, bytes, NULL));
	note(report, "add another", add(entry, bytes, 4, TRITONSERVER_MEMORY_CPU));
	note(report, "copy two", TRITONCACHE_Copy(allocator, entry));
	TRITONSERVER_BufferAttributesDelete(attributes);
	return internal(report);
}

TRITONCACHE_ISPEC TRITONSERVER_Error *TRITONCACHE_CacheLookup(TRITONCACHE_Cache *cache, const char *key, TRITONCACHE_CacheEntry *entry, TRITONCACHE_Allocator *allocator) {
	char text[64];
	if (is(cache, "misuse")) {
		return misuse(entry, allocator);
	}
	if (is(cache, "heap")) {
		snprintf(text, sizeof text, "%zu", (size_t)mallinfo2().uordblks);
		return internal(text);
	}
	if (is(cache, "key")) {
		return internal(key);
	}
	if (is(cache, "hang")) {
		for (;;) {
			sleep(1);
		}
	}
	if (is(cache, "slow")) {
		usleep(300 * 1000);
	}
	if (is(cache, "keep") && kept_entry) {
		void *error;
		pthread_join(late, &error);
		kept_entry = NULL;
		return error;
	}
	struct entry *found = find(cache, key);
	if (!found) {
		return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_NOT_FOUND, "no such key");
	}
	if (is(cache, "no copy")) {
		return NULL;
	}
	if (is(cache, "damage")) {
		((char *)found->bytes)[found->size / 2] ^= 1;
	}
	TRITONSERVER_Error *error = add(entry, found->bytes, is(cache, "short") ? found->size / 2 : is(cache, "huge") ? (size_t)1 << 50 : found->size, TRITONSERVER_MEMORY_CPU);
	if (!error && is(cache, "copy beside")) {
		struct beside *b = malloc(sizeof *b);
		*b = (struct beside){entry, allocator};
		pthread_t thread;
		pthread_create(&thread, NULL, copy_beside, b);
		pthread_detach(thread);
		usleep((useconds_t)(random() % 60)); // about as long as a thread takes to start
		return NULL;
	}
	if (!error) {
		error = TRITONCACHE_Copy(allocator, entry);
	}
	if (!error && is(cache, "copy twice")) {
		error = TRITONCACHE_Copy(allocator, entry);
	}
	return !error && is(cache, "fail late") ? internal("failed after the copy") : error;
}

TRITONCACHE_ISPEC TRITONSERVER_Error *TRITONCACHE_CacheInsert(TRITONCACHE_Cache *cache, const char *key, TRITONCACHE_CacheEntry *entry, TRITONCACHE_Allocator *allocator) {
	if (is(cache, "hang")) {
		for (;;) {
			sleep(1);
		}
	}
	if (is(cache, "refuse")) {
		return NULL; // stores nothing, and says so to nobody
	}
	if (is(cache, "full")) {
		return internal("the cache is full");
	}
	if (is(cache, "no memory")) {
		return TRITONCACHE_Copy(allocator, entry);
	}
	if (find(cache, key)) {
		return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_ALREADY_EXISTS, "it is there");
	}
	TRITONSERVER_BufferAttributes *attributes;
	TRITONSERVER_BufferAttributesNew(&attributes);
	void *base;
	struct entry *e = calloc(1, sizeof *e);
	TRITONSERVER_Error *error = TRITONCACHE_CacheEntryGetBuffer(entry, 0, &base, attributes);
	if (!error) {
		TRITONSERVER_BufferAttributesByteSize(attributes, &e->size);
		e->bytes = malloc(e->size);
		if (is(cache, "other size")) {
			TRITONSERVER_BufferAttributesSetByteSize(attributes, e->size - 1);
		}
		error = TRITONCACHE_CacheEntrySetBuffer(entry, 0, e->bytes, attributes);
	}
	TRITONSERVER_BufferAttributesDelete(attributes);
	if (!error) {
		error = TRITONCACHE_Copy(allocator, entry);
	}
	if (error) {
		free(e->bytes);
		free(e);
		return error;
	}
	if (is(cache, "keep")) {
		kept_entry = entry;
		kept_allocator = allocator;
		pthread_create(&late, NULL, copy_late, NULL);
	}
	e->key = strdup(key);
	e->next = cache->entries;
	cache->entries = e;
	return NULL;
}
