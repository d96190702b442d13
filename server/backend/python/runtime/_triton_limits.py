"""Limits of this process."""

import os


class LimitError(Exception):
    """A limit that cannot be set."""


def impose(limits):
    """Sets the limits of this process, which the processes that it starts inherit."""
    import resource
    for parameter, value, call in (
            ("python_memory_limit_bytes", limits.get("memory"), lambda n: resource.setrlimit(resource.RLIMIT_DATA, (n, n))),
            ("python_cpus", limits.get("cpus"), lambda cpus: os.sched_setaffinity(0, cpus)),
            ("python_nice", limits.get("nice"), os.nice)):
        try:
            if value:
                call(value)
        except (OSError, ValueError) as e:
            raise LimitError(f"{parameter}: {e}") from e
