//go:build cgo && (linux || darwin)

// A session is made by a thread of its own with a low priority, so that the optimization of a large
// graph takes no processor from running batches. The priority of a thread cannot be raised again
// without a privilege, so the thread ends with the load. For the same reason it must not start the
// threads of the session's pool, which would inherit the priority for good: the thread that waits
// for the load starts them.

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "ort.h"

// How much lower the priority is: the scheduler gives the thread a tenth of the share of others.
enum { load_niceness = 10 };

// A load, and the thread that it asks the waiting thread to start.
struct load {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	const trt_ort_library *lib;
	const trt_ort_source *from;
	const OrtSessionOptions *options;
	OrtSession **session;
	OrtStatus *status;
	OrtThreadWorkerFn work;
	void *argument;
	struct pool_thread *started;
	int asked, answered, done;
};

struct pool_thread {
	pthread_t id;
	OrtThreadWorkerFn work;
	void *argument;
};

static void *run_pool_thread(void *p) {
	struct pool_thread *t = p;
	t->work(t->argument);
	return NULL;
}

static struct pool_thread *start(OrtThreadWorkerFn work, void *argument) {
	struct pool_thread *t = malloc(sizeof *t);
	if (t == NULL) {
		return NULL;
	}
	t->work = work;
	t->argument = argument;
	if (pthread_create(&t->id, NULL, run_pool_thread, t) != 0) {
		free(t);
		return NULL;
	}
	return t;
}

// create_thread is called by ONNX Runtime on the thread of the load.
static OrtCustomThreadHandle create_thread(void *p, OrtThreadWorkerFn work, void *argument) {
	struct load *l = p;
	pthread_mutex_lock(&l->mutex);
	l->work = work;
	l->argument = argument;
	l->asked = 1;
	l->answered = 0;
	pthread_cond_broadcast(&l->changed);
	while (!l->answered) {
		pthread_cond_wait(&l->changed, &l->mutex);
	}
	struct pool_thread *t = l->started;
	pthread_mutex_unlock(&l->mutex);
	return (OrtCustomThreadHandle)t;
}

static void join_thread(OrtCustomThreadHandle h) {
	struct pool_thread *t = (struct pool_thread *)h;
	pthread_join(t->id, NULL);
	free(t);
}

static void lower_priority(void) {
#ifdef __linux__ // where a thread has a priority of its own
	errno = 0;
	int now = getpriority(PRIO_PROCESS, 0);
	if (errno == 0) {
		setpriority(PRIO_PROCESS, 0, now + load_niceness);
	}
#endif
}

static void *run_load(void *p) {
	struct load *l = p;
	lower_priority();
	OrtStatus *s = trt_ort_create(l->lib, l->from, l->options, l->session);
	pthread_mutex_lock(&l->mutex);
	l->status = s;
	l->done = 1;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->mutex);
	return NULL;
}

trt_ort_error trt_ort_session_open_quietly(const trt_ort_library *lib, const trt_ort_source *from, OrtSessionOptions *options, OrtSession **session) {
	struct load l = {.lib = lib, .from = from, .options = options, .session = session};
	pthread_mutex_init(&l.mutex, NULL);
	pthread_cond_init(&l.changed, NULL);
	OrtStatus *s = ORT(lib, SessionOptionsSetCustomCreateThreadFn)(options, create_thread);
	if (s == NULL) {
		s = ORT(lib, SessionOptionsSetCustomThreadCreationOptions)(options, &l);
	}
	if (s == NULL) {
		s = ORT(lib, SessionOptionsSetCustomJoinThreadFn)(options, join_thread);
	}
	pthread_t loader;
	if (s == NULL && pthread_create(&loader, NULL, run_load, &l) != 0) {
		pthread_cond_destroy(&l.changed);
		pthread_mutex_destroy(&l.mutex);
		return trt_ort_fail(TRT_ORT_MEMORY, "no thread can be started to load the model");
	}
	if (s == NULL) {
		pthread_mutex_lock(&l.mutex);
		while (!l.done) {
			if (l.asked) {
				l.started = start(l.work, l.argument);
				l.asked = 0;
				l.answered = 1;
				pthread_cond_broadcast(&l.changed);
			} else {
				pthread_cond_wait(&l.changed, &l.mutex);
			}
		}
		pthread_mutex_unlock(&l.mutex);
		pthread_join(loader, NULL);
		s = l.status;
	}
	pthread_cond_destroy(&l.changed);
	pthread_mutex_destroy(&l.mutex);
	return trt_ort_check(lib, s);
}
