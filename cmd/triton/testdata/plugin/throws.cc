// A backend in C++ from which an exception escapes.
#include <stdexcept>

#include "triton/core/tritonbackend.h"

extern "C" TRITONSERVER_Error *TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance *, TRITONBACKEND_Request **, const uint32_t) {
	throw std::runtime_error("an exception of the test backend");
}
