// A CUDA driver without GPU, for tests. Device memory is the files of the folder
// that the library lies in, and an IPC handle is a file's name with an offset at
// byte 56. A file fail-NAME makes the call NAME answer the number that it holds.
// The file "calls" tells what was called. Copies are made when their stream is
// waited for, and nothing works on a thread without context.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVICES 2
#define REGIONS 64
// Device addresses are none of the processor's.
#define DEVICE_BIT (1ull << 60)
#define INVALID_VALUE 1
#define INVALID_DEVICE 101
#define INVALID_CONTEXT 201

typedef struct {
	char bytes[64];
} handle;

static struct {
	char *at;
	size_t size;
	char name[56]; // of the file, if this process allocated it
} regions[REGIONS];

static _Thread_local int depth;
static _Thread_local struct {
	void *to;
	void *from;
	size_t n;
	void *copy;
} pending;

static void path(char *to, const char *name) {
	Dl_info me;
	dladdr((void *)path, &me);
	snprintf(to, PATH_MAX, "%.*s/%s", (int)(strrchr(me.dli_fname, '/') - me.dli_fname), me.dli_fname, name);
}

// called notes a call, and says whether it is to fail.
static int called(const char *name) {
	char file[PATH_MAX], fail[128], line[128];
	path(file, "calls");
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
	int n = snprintf(line, sizeof line, "%s\n", name);
	if (write(fd, line, n) != n) abort();
	close(fd);
	snprintf(fail, sizeof fail, "fail-%s", name);
	path(file, fail);
	FILE *f = fopen(file, "r");
	if (!f) return 0;
	int e = 0;
	if (fscanf(f, "%d", &e) != 1) abort();
	fclose(f);
	return e;
}

#define CALLED                     \
	do {                           \
		int e = called(__func__);  \
		if (e) return e;           \
	} while (0)
#define IN_CONTEXT \
	if (!depth) return INVALID_CONTEXT

int cuInit(unsigned flags) {
	CALLED;
	return flags ? INVALID_VALUE : 0;
}

int cuDeviceGetCount(int *n) {
	CALLED;
	*n = DEVICES;
	return 0;
}

int cuDeviceGet(int *device, int index) {
	CALLED;
	if (index < 0 || index >= DEVICES) return INVALID_DEVICE;
	*device = index + 100;
	return 0;
}

#ifndef OLD // drivers of before 2018
int cuDeviceGetUuid(void *uuid, int device) {
	CALLED;
	if (device < 100 || device >= 100 + DEVICES) return INVALID_DEVICE;
	for (int i = 0; i < 16; i++) ((unsigned char *)uuid)[i] = 16 * (device - 100 + 10) + i;
	return 0;
}

int cuDeviceGetPCIBusId(char *id, int size, int device) {
	CALLED;
	if (device < 100 || device >= 100 + DEVICES) return INVALID_DEVICE;
	return snprintf(id, size, "0000:%02x:00.0", 0x65 + device - 100) < size ? 0 : INVALID_VALUE;
}
#endif

int cuDevicePrimaryCtxRetain(void **context, int device) {
	CALLED;
	*context = (void *)(intptr_t)(device * 1000);
	return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
	CALLED;
	return device < 100 || device >= 100 + DEVICES ? INVALID_DEVICE : 0;
}

int cuCtxPushCurrent_v2(void *context) {
	CALLED;
	if ((intptr_t)context < 100 * 1000) return INVALID_CONTEXT;
	depth++;
	return 0;
}

int cuCtxPopCurrent_v2(void **context) {
	CALLED;
	IN_CONTEXT;
	depth--;
	*context = NULL;
	return 0;
}

int cuIpcOpenMemHandle_v2(uint64_t *address, handle h, unsigned flags) {
	CALLED;
	IN_CONTEXT;
	uint64_t offset;
	struct stat s;
	char file[PATH_MAX];
	memcpy(&offset, h.bytes + 56, sizeof offset);
	h.bytes[56] = 0;
	path(file, h.bytes);
	int fd = h.bytes[0] && flags == 1 ? open(file, O_RDWR) : -1;
	if (fd < 0 || fstat(fd, &s)) return INVALID_VALUE;
	char *at = mmap(NULL, s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED) return INVALID_VALUE;
	for (int i = 0; i < REGIONS; i++) {
		char *none = NULL;
		if (__atomic_compare_exchange_n(&regions[i].at, &none, at, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
			regions[i].size = s.st_size;
			*address = (DEVICE_BIT | (uintptr_t)at) + offset;
			return 0;
		}
	}
	abort();
}

static int find(uint64_t address) {
	for (int i = 0; i < REGIONS; i++) {
		uint64_t at = DEVICE_BIT | (uintptr_t)regions[i].at;
		if (regions[i].at && address >= at && address < at + regions[i].size) return i;
	}
	return -1;
}

int cuIpcCloseMemHandle(uint64_t address) {
	CALLED;
	IN_CONTEXT;
	int i = find(address);
	if (i < 0) return INVALID_VALUE;
	char *at = regions[i].at;
	size_t size = regions[i].size;
	// First the entry: once unmapped, another thread may get the same address.
	__atomic_store_n(&regions[i].at, NULL, __ATOMIC_SEQ_CST);
	munmap(at, size);
	return 0;
}

int cuMemGetAddressRange_v2(uint64_t *base, size_t *size, uint64_t address) {
	CALLED;
	IN_CONTEXT;
	int i = find(address);
	if (i < 0) return INVALID_VALUE;
	*base = DEVICE_BIT | (uintptr_t)regions[i].at;
	*size = regions[i].size;
	return 0;
}

static int later(void *to, void *from, size_t n, void *copy, void *stream) {
	IN_CONTEXT;
	if (pending.n || stream != (void *)2) return INVALID_VALUE;
	pending.to = to, pending.from = from, pending.n = n, pending.copy = copy;
	return 0;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n, void *stream) {
	CALLED;
	if (find(from) < 0 || find(from + n - 1) != find(from)) return INVALID_VALUE;
	return later(to, (void *)(uintptr_t)(from & ~DEVICE_BIT), n, NULL, stream);
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, void *stream) {
	CALLED;
	if (find(to) < 0 || find(to + n - 1) != find(to)) return INVALID_VALUE;
	void *copy = malloc(n);
	memcpy(copy, from, n);
	return later((void *)(uintptr_t)(to & ~DEVICE_BIT), copy, n, copy, stream);
}

int cuStreamSynchronize(void *stream) {
	int e = called(__func__);
	if (!depth) return INVALID_CONTEXT;
	if (!e && stream == (void *)2) memcpy(pending.to, pending.from, pending.n);
	free(pending.copy);
	pending.n = 0, pending.copy = NULL;
	return e;
}

// What follows is for owners of memory only.

int cuMemAlloc_v2(uint64_t *address, size_t size) {
	CALLED;
	static atomic_int made;
	handle h = {0};
	char file[PATH_MAX];
	snprintf(h.bytes, 56, "owned-%d-%d", getpid(), atomic_fetch_add(&made, 1));
	path(file, h.bytes);
	int fd = open(file, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || ftruncate(fd, size)) return INVALID_VALUE;
	close(fd);
	int e = cuIpcOpenMemHandle_v2(address, h, 1);
	if (!e) strcpy(regions[find(*address)].name, h.bytes);
	return e;
}

int cuMemFree_v2(uint64_t address) {
	int i = find(address);
	if (i < 0) return INVALID_VALUE;
	char file[PATH_MAX];
	path(file, regions[i].name);
	int e = cuIpcCloseMemHandle(address);
	unlink(file);
	return e;
}

int cuIpcGetMemHandle(handle *h, uint64_t address) {
	CALLED;
	int i = find(address);
	if (i < 0) return INVALID_VALUE;
	memset(h, 0, sizeof *h);
	strcpy(h->bytes, regions[i].name);
	return 0;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t n) {
	int e = cuMemcpyHtoDAsync_v2(to, from, n, (void *)2);
	return e ? e : cuStreamSynchronize((void *)2);
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t n) {
	int e = cuMemcpyDtoHAsync_v2(to, from, n, (void *)2);
	return e ? e : cuStreamSynchronize((void *)2);
}

int cuGetErrorString(int error, const char **text) {
	switch (error) {
	case INVALID_VALUE: *text = "invalid argument"; return 0;
	case INVALID_DEVICE: *text = "invalid device ordinal"; return 0;
	case INVALID_CONTEXT: *text = "invalid device context"; return 0;
	}
	*text = NULL;
	return INVALID_VALUE;
}
