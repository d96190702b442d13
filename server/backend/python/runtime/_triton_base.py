"""What the classes of the backend have in common."""

import enum

host = None  # runner.py sets it
model_dir = instance = ""
decoupled = False
initialized = finalizing = False


class TritonModelException(Exception):
    pass


def ignore(*_):
    """The handler of the signals that do not end this process. If they were ignored, the programs that the model
    starts would ignore them too."""


class Enum(enum.IntEnum):
    """An enumeration that prints as those of the native module do."""

    def __str__(self):
        return f"{type(self).__name__}.{self.name}"

    def __repr__(self):
        return f"<{self}: {self.value}>"


ErrorCode = Enum("__ErrorCode", "UNKNOWN INTERNAL NOT_FOUND INVALID_ARG UNAVAILABLE UNSUPPORTED ALREADY_EXISTS CANCELLED",
                 start=0)


def to_str(value):
    """A str, as the native module takes one: also from bytes."""
    return value.decode("utf-8") if isinstance(value, bytes) else value


def fits(value, bits):
    """Reports whether a value is an unsigned integer of so many bits."""
    return isinstance(value, int) and 0 <= value < 1 << bits


class TritonError:
    UNKNOWN, INTERNAL, NOT_FOUND, INVALID_ARG, UNAVAILABLE, UNSUPPORTED, ALREADY_EXISTS, CANCELLED = ErrorCode

    def __init__(self, message, code=INTERNAL):
        message = to_str(message)
        if not isinstance(message, str) or not isinstance(code, ErrorCode):
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
    """Gives classes the module that NVIDIA's have, as error texts show it. Their objects cannot be pickled either."""
    for c in classes:
        c.__module__ = "c_python_backend_utils"
        if not issubclass(c, (Exception, enum.Enum)):
            c.__reduce_ex__ = not_picklable


def not_picklable(self, protocol):
    raise TypeError(f"cannot pickle 'c_python_backend_utils.{type(self).__name__}' object")


native(TritonModelException, TritonError, ErrorCode)
