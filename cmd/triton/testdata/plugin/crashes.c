// A backend that ends the process that it runs in.
#include <signal.h>
#include <unistd.h>

#include "backend.h"

static volatile int depth;

static int deeper(int n) {
	volatile char room[4096];
	room[0] = (char)n;
	return deeper(n + 1) + room[0] + depth;
}

static TRITONSERVER_Error *run(test_call *c) {
	if (strcmp(c->fault, "segfault") == 0) {
		*(volatile int *)(uintptr_t)16 = 1;
	} else if (strcmp(c->fault, "abort") == 0) {
		abort();
	} else if (strcmp(c->fault, "exit") == 0) {
		_exit(3);
	} else if (strcmp(c->fault, "exit_handlers") == 0) {
		exit(4);
	} else if (strcmp(c->fault, "kill") == 0) {
		kill(getpid(), SIGKILL);
	} else if (strcmp(c->fault, "divide") == 0) {
		raise(SIGFPE);
	} else if (strcmp(c->fault, "overflow") == 0) {
		depth = deeper(depth);
	} else if (strcmp(c->fault, "double_free") == 0) {
		void *volatile p = malloc(100);
		free(p);
		free(p);
	} else if (strcmp(c->fault, "endless") == 0) {
		for (;;) {
			pause();
		}
	}
	return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "the test backend is still alive");
}
