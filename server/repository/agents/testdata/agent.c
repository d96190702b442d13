// A repository agent for tests. It appends a line for each call to the file that its parameter log
// names, and its parameter mode says what it does.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "triton/core/tritonrepoagent.h"

#ifndef NAME
#define NAME "agent"
#endif

// What a model says in the log; the state of the model.
struct model {
	char log[512], mode[64], name[64];
	const char *location;
};

static TRITONSERVER_Error *error_of(const char *text) { return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, text); }

static void write_line(const struct model *m, const char *text) {
	FILE *f = fopen(m->log, "a");
	if (f) {
		fprintf(f, "%s %s\n", m->name, text);
		fclose(f);
	}
}

static void note(const struct model *m, const char *call, TRITONSERVER_Error *error) {
	char line[1024];
	snprintf(line, sizeof line, "%s: %s", call, error ? TRITONSERVER_ErrorMessage(error) : "ok");
	if (error) {
		TRITONSERVER_ErrorDelete(error);
	}
	write_line(m, line);
}

TRITONREPOAGENT_ISPEC TRITONSERVER_Error *TRITONREPOAGENT_Initialize(TRITONREPOAGENT_Agent *agent) {
	uint32_t major, minor;
	TRITONREPOAGENT_ApiVersion(&major, &minor);
	if (major != TRITONREPOAGENT_API_VERSION_MAJOR || minor < TRITONREPOAGENT_API_VERSION_MINOR) {
		return error_of("triton repository agent API version does not support this agent");
	}
	if (getenv("TEST_AGENT_HANGS")) {
		sleep(3600);
	}
	return TRITONREPOAGENT_SetState(agent, strdup(NAME));
}

TRITONREPOAGENT_ISPEC TRITONSERVER_Error *TRITONREPOAGENT_Finalize(TRITONREPOAGENT_Agent *agent) {
	void *state;
	TRITONREPOAGENT_State(agent, &state);
	free(state);
	return NULL;
}

static void parameter(TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model, const char *wanted, char *to, size_t size) {
	uint32_t count;
	TRITONREPOAGENT_ModelParameterCount(agent, model, &count);
	for (uint32_t i = 0; i < count; i++) {
		const char *name, *value;
		TRITONREPOAGENT_ModelParameter(agent, model, i, &name, &value);
		if (strcmp(name, wanted) == 0) {
			snprintf(to, size, "%s", value);
		}
	}
}

TRITONREPOAGENT_ISPEC TRITONSERVER_Error *TRITONREPOAGENT_ModelInitialize(TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model) {
	struct model *m = calloc(1, sizeof *m);
	snprintf(m->name, sizeof m->name, "%s", NAME);
	parameter(agent, model, "log", m->log, sizeof m->log);
	parameter(agent, model, "mode", m->mode, sizeof m->mode);
	parameter(agent, model, "name", m->name, sizeof m->name);
	TRITONREPOAGENT_ModelSetState(model, m);
	write_line(m, "begins");
	return strcmp(m->mode, "refuse to begin") == 0 ? error_of("it does not begin") : NULL;
}

TRITONREPOAGENT_ISPEC TRITONSERVER_Error *TRITONREPOAGENT_ModelFinalize(TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model) {
	struct model *m;
	TRITONREPOAGENT_ModelState(model, (void **)&m);
	if (m->location && strcmp(m->mode, "forget") != 0) {
		note(m, "release", TRITONREPOAGENT_ModelRepositoryLocationRelease(agent, model, m->location));
	}
	write_line(m, "ends");
	free(m);
	return NULL;
}

// copy_model copies the files of the model to a directory of the server and uses that.
static TRITONSERVER_Error *copy_model(TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model, struct model *m) {
	TRITONREPOAGENT_ArtifactType type;
	const char *from;
	TRITONSERVER_Error *error = TRITONREPOAGENT_ModelRepositoryLocation(agent, model, &type, &from);
	if (error) {
		return error;
	}
	error = TRITONREPOAGENT_ModelRepositoryLocationAcquire(agent, model, TRITONREPOAGENT_ARTIFACT_FILESYSTEM, &m->location);
	if (error) {
		return error;
	}
	char command[2048];
	snprintf(command, sizeof command, "cp -r %s/. %s && echo moved > %s/moved.txt", from, m->location, m->location);
	if (system(command) != 0) {
		return error_of("the files cannot be copied");
	}
	return TRITONREPOAGENT_ModelRepositoryUpdate(agent, model, TRITONREPOAGENT_ARTIFACT_FILESYSTEM, m->location);
}

// misuse calls every function wrongly.
static void misuse(TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model, struct model *m) {
	const char *text;
	TRITONSERVER_Message *message;
	note(m, "release", TRITONREPOAGENT_ModelRepositoryLocationRelease(agent, model, "x"));
	note(m, "acquire remote", TRITONREPOAGENT_ModelRepositoryLocationAcquire(agent, model, TRITONREPOAGENT_ARTIFACT_REMOTE_FILESYSTEM, &text));
	note(m, "acquire", TRITONREPOAGENT_ModelRepositoryLocationAcquire(agent, model, TRITONREPOAGENT_ARTIFACT_FILESYSTEM, &text));
	const char *again;
	note(m, "acquire again", TRITONREPOAGENT_ModelRepositoryLocationAcquire(agent, model, TRITONREPOAGENT_ARTIFACT_FILESYSTEM, &again));
	write_line(m, text == again ? "the same" : "another");
	note(m, "update with nothing", TRITONREPOAGENT_ModelRepositoryUpdate(agent, model, TRITONREPOAGENT_ARTIFACT_FILESYSTEM, NULL));
	note(m, "parameter", TRITONREPOAGENT_ModelParameter(agent, model, 99, &text, &again));
	note(m, "version 2", TRITONREPOAGENT_ModelConfig(agent, model, 2, &message));
	note(m, "nothing", TRITONREPOAGENT_ModelConfig(agent, NULL, 1, &message));
	note(m, "state of nothing", TRITONREPOAGENT_ModelState(NULL, NULL));
	note(m, "agent of nothing", TRITONREPOAGENT_State(NULL, NULL));
}

TRITONREPOAGENT_ISPEC TRITONSERVER_Error *TRITONREPOAGENT_ModelAction(TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model, const TRITONREPOAGENT_ActionType action) {
	static const char *const names[] = {"LOAD", "LOAD_COMPLETE", "LOAD_FAIL", "UNLOAD", "UNLOAD_COMPLETE"};
	struct model *m;
	TRITONREPOAGENT_ModelState(model, (void **)&m);
	write_line(m, names[action]);
	if (strcmp(m->mode, "fail to unload") == 0 && action == TRITONREPOAGENT_ACTION_UNLOAD) {
		return error_of("it does not unload");
	}
	if (strcmp(m->mode, "update late") == 0 && action == TRITONREPOAGENT_ACTION_LOAD_COMPLETE) {
		return TRITONREPOAGENT_ModelRepositoryUpdate(agent, model, TRITONREPOAGENT_ARTIFACT_FILESYSTEM, "/tmp");
	}
	if (action != TRITONREPOAGENT_ACTION_LOAD) {
		return NULL;
	}
	if (strcmp(m->mode, "refuse") == 0) {
		return error_of("it does not load");
	}
	if (strcmp(m->mode, "hang") == 0) {
		sleep(3600);
	}
	if (strcmp(m->mode, "slow") == 0) { // until there is a file beside the log
		char gate[sizeof m->log + 8];
		snprintf(gate, sizeof gate, "%s.gate", m->log);
		while (access(gate, F_OK) != 0) {
			usleep(1000);
		}
	}
	if (strcmp(m->mode, "move") == 0 || strcmp(m->mode, "forget") == 0) {
		return copy_model(agent, model, m);
	}
	if (strcmp(m->mode, "remote") == 0) {
		return TRITONREPOAGENT_ModelRepositoryUpdate(agent, model, TRITONREPOAGENT_ARTIFACT_REMOTE_FILESYSTEM, "s3://bucket/model");
	}
	if (strcmp(m->mode, "misuse") == 0) {
		misuse(agent, model, m);
	}
	if (strcmp(m->mode, "config") == 0) {
		TRITONSERVER_Message *message;
		const char *base;
		size_t size;
		TRITONSERVER_Error *error = TRITONREPOAGENT_ModelConfig(agent, model, 1, &message);
		if (error) {
			return error;
		}
		TRITONSERVER_MessageSerializeToJson(message, &base, &size);
		char line[4096];
		snprintf(line, sizeof line, "config %.*s", (int)size, base);
		write_line(m, line);
		TRITONSERVER_MessageDelete(message);
	}
	return NULL;
}
