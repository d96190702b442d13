"""What the classes of the backend have in common."""

host = None  # runner.py sets it
model_dir = instance = ""
decoupled = False
initialized = finalizing = False


class TritonModelException(Exception):
    pass


class TritonError:
    UNKNOWN, INTERNAL, NOT_FOUND, INVALID_ARG, UNAVAILABLE, UNSUPPORTED, ALREADY_EXISTS, CANCELLED = range(8)

    def __init__(self, message, code=INTERNAL):
        if not isinstance(message, str) or not isinstance(code, int):
            raise TypeError(
                "__init__(): incompatible constructor arguments. The following argument types are supported:\n"
                "    1. c_python_backend_utils.TritonError(message: str, code: int = TritonError.INTERNAL)\n\n"
                f"Invoked with: {message!r}, {code!r}")
        self._message = message
        self._code = code

    def message(self):
        return self._message

    def code(self):
        return self._code


def native(*classes):
    """Gives classes the module that NVIDIA's have, as error texts show it."""
    for c in classes:
        c.__module__ = "c_python_backend_utils"


native(TritonModelException, TritonError)
