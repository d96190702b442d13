// Backends that a server refuses when it loads a model; the test chooses one by a macro.
#include <stdlib.h>

#include "triton/core/tritonbackend.h"

#ifdef UNDEFINED
TRITONSERVER_Error *TRITONBACKEND_ComesInALaterRelease(TRITONBACKEND_Model *m);
#endif

#ifdef NEWER
TRITONSERVER_Error *TRITONBACKEND_Initialize(TRITONBACKEND_Backend *b) {
	uint32_t major, minor;
	TRITONSERVER_Error *err = TRITONBACKEND_ApiVersion(&major, &minor);
	if (err == NULL && (major != TRITONBACKEND_API_VERSION_MAJOR || minor < TRITONBACKEND_API_VERSION_MINOR + 1)) {
		err = TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNSUPPORTED, "triton backend API version does not support this backend");
	}
	return err;
}
#endif

#ifdef UNWILLING
TRITONSERVER_Error *TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model *m) {
	TRITONSERVER_LogMessage(TRITONSERVER_LOG_INFO, __FILE__, __LINE__, "noted: initialized");
	return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, "this model does not suit the backend");
}

TRITONSERVER_Error *TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model *m) {
	TRITONSERVER_LogMessage(TRITONSERVER_LOG_INFO, __FILE__, __LINE__, "noted: finalized");
	return NULL;
}
#endif

#ifdef FALSE_CONFIG
TRITONSERVER_Error *TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model *m) {
	TRITONSERVER_Message *message;
	static const char json[] = "{\"input\": 7}";
	TRITONSERVER_Error *err = TRITONSERVER_MessageNewFromSerializedJson(&message, json, sizeof json - 1);
	if (err == NULL) {
		err = TRITONBACKEND_ModelSetConfig(m, 1, message);
		TRITONSERVER_MessageDelete(message);
	}
	return err;
}
#endif

#ifdef LAME_INSTANCE
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance *i) {
	return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE, "no device is left for this instance");
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance *i) {
	TRITONSERVER_LogMessage(TRITONSERVER_LOG_INFO, __FILE__, __LINE__, "noted: finalized");
	return NULL;
}
#endif

#ifdef DIES_AT_LOAD
TRITONSERVER_Error *TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model *m) { abort(); }
#endif

#ifndef WITHOUT_EXECUTE
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance *i, TRITONBACKEND_Request **requests, const uint32_t count) {
#ifdef UNDEFINED
	return TRITONBACKEND_ComesInALaterRelease(NULL);
#else
	return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "not served");
#endif
}
#endif
