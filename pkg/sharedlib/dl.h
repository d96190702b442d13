// How libraries are opened and searched.
#pragma once

enum {
	TRT_DL_LOCAL,  // all symbols bound at once, none offered to others
	TRT_DL_GLOBAL, // offered to all libraries that are opened later
	TRT_DL_LOADED, // only if it is loaded already
};

// trt_dl_open returns NULL and a text that the caller frees if the library does not open.
void *trt_dl_open(const char *path, int mode, char **why);

// trt_dl_symbol returns the address of a name in an opened library, or with NULL in the
// whole program.
void *trt_dl_symbol(void *handle, const char *name);

// trt_dl_publish_self offers the symbols of the library that this code is part of to all
// libraries that are opened later. It does nothing in an executable.
void trt_dl_publish_self(void);
