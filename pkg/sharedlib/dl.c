//go:build cgo && linux

#define _GNU_SOURCE
#include "dl.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void *trt_dl_open(const char *path, int mode, char **why) {
	static const int flags[] = {
		[TRT_DL_LOCAL] = RTLD_NOW | RTLD_LOCAL,
		[TRT_DL_GLOBAL] = RTLD_NOW | RTLD_GLOBAL,
		[TRT_DL_LOADED] = RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD,
	};
	dlerror();
	void *handle = dlopen(path, flags[mode]);
	if (handle == NULL) {
		const char *text = dlerror();
		*why = strdup(text == NULL ? "not loaded" : text);
	}
	return handle;
}

void *trt_dl_symbol(void *handle, const char *name) {
	return dlsym(handle == NULL ? RTLD_DEFAULT : handle, name);
}

void trt_dl_publish_self(void) {
	Dl_info self;
	if (dladdr((void *)trt_dl_publish_self, &self) != 0 && self.dli_fname != NULL) {
		dlopen(self.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
	}
}
