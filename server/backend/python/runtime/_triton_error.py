"""The texts of errors."""

import os
import sys

RUNNER = sys.modules["__main__"].__file__
HERE = os.path.dirname(RUNNER)


class ModelError(Exception):
    """An error with the text that clients get."""

    triton_plain = True


def describe(e):
    """The text of an exception as pybind11 writes it: the frames of this program are left out."""
    if getattr(e, "triton_plain", False):
        return str(e)  # of a shipped backend, for users
    tb = e.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    frame = tb.tb_frame if tb is not None else None
    line = tb.tb_lineno if tb is not None else 0
    lines = []
    # From Python 3.12 on, the frame of a coroutine that has ended still shows the event loop as its caller.
    while (frame is not None and frame.f_code.co_filename != RUNNER
           and frame.f_globals.get("__name__") != "asyncio.events"):
        if os.path.dirname(frame.f_code.co_filename) != HERE:
            lines.append(f"  {frame.f_code.co_filename}({line}): {frame.f_code.co_name}\n")
        frame = frame.f_back
        line = frame.f_lineno if frame is not None else 0
    at = "\n\nAt:\n" + "".join(lines) if lines else ""
    return f"{type(e).__name__}: {str(e) or '<EMPTY MESSAGE>'}{at}"
