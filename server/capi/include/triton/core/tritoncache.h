/* Generated from server/capi/api.txt by `go generate ./server/capi`; do not edit. */
#pragma once

#include "triton/core/tritonserver.h"

#define TRITONCACHE_API_VERSION_MAJOR 0
#define TRITONCACHE_API_VERSION_MINOR 1

#if defined(_MSC_VER) && defined(_COMPILING_TRITONCACHE)
#define TRITONCACHE_DECLSPEC __declspec(dllexport)
#define TRITONCACHE_ISPEC __declspec(dllimport)
#elif defined(_MSC_VER)
#define TRITONCACHE_DECLSPEC __declspec(dllimport)
#define TRITONCACHE_ISPEC __declspec(dllexport)
#else
#define TRITONCACHE_DECLSPEC __attribute__((visibility("default")))
#define TRITONCACHE_ISPEC __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A cache that the library has made; the library chooses what it points to. */
typedef struct TRITONCACHE_Cache TRITONCACHE_Cache;

/* The buffers of one cached response. */
typedef struct TRITONCACHE_CacheEntry TRITONCACHE_CacheEntry;

/* Copies buffers between the server and the cache. */
typedef struct TRITONCACHE_Allocator TRITONCACHE_Allocator;

/* Stores the version of the cache API. */
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_ApiVersion(uint32_t* major, uint32_t* minor);

/* Stores how many buffers an entry has. */
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_CacheEntryBufferCount(TRITONCACHE_CacheEntry* entry, size_t* count);

/* Adds a buffer; the entry copies the attributes, not the bytes. */
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_CacheEntryAddBuffer(TRITONCACHE_CacheEntry* entry, void* base, TRITONSERVER_BufferAttributes* buffer_attributes);

/* Stores a buffer's address and fills the caller's attributes. */
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_CacheEntryGetBuffer(TRITONCACHE_CacheEntry* entry, size_t index, void** base, TRITONSERVER_BufferAttributes* buffer_attributes);

/* Replaces a buffer; null attributes keep the old ones. */
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_CacheEntrySetBuffer(TRITONCACHE_CacheEntry* entry, size_t index, void* new_base, TRITONSERVER_BufferAttributes* buffer_attributes);

/* Copies the buffers of an entry to or from the server. */
TRITONCACHE_DECLSPEC TRITONSERVER_Error* TRITONCACHE_Copy(TRITONCACHE_Allocator* allocator, TRITONCACHE_CacheEntry* entry);

/* Makes a cache from settings in JSON. */
TRITONCACHE_ISPEC TRITONSERVER_Error* TRITONCACHE_CacheInitialize(TRITONCACHE_Cache** cache, const char* config);

/* Deletes a cache. */
TRITONCACHE_ISPEC TRITONSERVER_Error* TRITONCACHE_CacheFinalize(TRITONCACHE_Cache* cache);

/* Stores an entry under a key that the cache does not have yet. */
TRITONCACHE_ISPEC TRITONSERVER_Error* TRITONCACHE_CacheInsert(TRITONCACHE_Cache* cache, const char* key, TRITONCACHE_CacheEntry* entry, TRITONCACHE_Allocator* allocator);

/* Finds an entry and copies it to the server. */
TRITONCACHE_ISPEC TRITONSERVER_Error* TRITONCACHE_CacheLookup(TRITONCACHE_Cache* cache, const char* key, TRITONCACHE_CacheEntry* entry, TRITONCACHE_Allocator* allocator);

#ifdef __cplusplus
}
#endif
