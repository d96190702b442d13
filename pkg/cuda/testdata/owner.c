// A process with memory on the first device of the driver whose path it is
// given: "0123456789", then zeros, one MiB together. It writes the handle in
// hexadecimal, waits for a line, and writes the first ten bytes as they are then.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SIZE (1 << 20)

static void *lib;

#define CALL(name, types, ...)                                              \
	do {                                                                    \
		int(*f) types = (int(*) types)dlsym(lib, name);                     \
		int e = f ? f(__VA_ARGS__) : -1;                                    \
		if (e) fprintf(stderr, "%s: error %d\n", name, e), exit(1);         \
	} while (0)

int main(int argc, char **argv) {
	static char content[SIZE] = "0123456789";
	unsigned char handle[64];
	int device;
	void *context;
	uint64_t memory;
	lib = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!lib) return fprintf(stderr, "%s\n", dlerror()), 1;
	CALL("cuInit", (unsigned), 0);
	CALL("cuDeviceGet", (int *, int), &device, 0);
	CALL("cuDevicePrimaryCtxRetain", (void **, int), &context, device);
	CALL("cuCtxPushCurrent_v2", (void *), context);
	CALL("cuMemAlloc_v2", (uint64_t *, size_t), &memory, SIZE);
	CALL("cuMemcpyHtoD_v2", (uint64_t, const void *, size_t), memory, content, SIZE);
	CALL("cuIpcGetMemHandle", (void *, uint64_t), handle, memory);
	for (int i = 0; i < 64; i++) printf("%02x", handle[i]);
	printf("\n");
	fflush(stdout);
	getchar();
	CALL("cuMemcpyDtoH_v2", (void *, uint64_t, size_t), content, memory, SIZE);
	printf("%.10s\n", content);
	CALL("cuMemFree_v2", (uint64_t), memory);
	return 0;
}
