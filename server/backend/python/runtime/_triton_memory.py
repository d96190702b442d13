"""The memory file that this process shares with the server."""

import collections
import mmap
import os
import threading

from _triton_channel import MEMORY


def aligned(size):
    """The size rounded up to a multiple of the alignment of tensors that share memory."""
    return size + 63 & -64


class Region:
    """A mapped range of the memory file."""

    __slots__ = ("mmap", "base", "end")

    def __init__(self, base, size):
        self.mmap = mmap.mmap(MEMORY, size, offset=base)
        self.base, self.end = base, base + size


class Regions:
    """The ranges in use. Small tensors share windows of 2 MiB that begin every MiB."""

    SMALL, WINDOW, KEEP = 1 << 20, 2 << 20, 128

    def __init__(self):
        self.known = collections.OrderedDict()
        self.lock = threading.Lock()

    def find(self, offset, size):
        small = size <= self.SMALL
        key = offset >> 20 if small else (offset, size)
        with self.lock:
            region = self.known.get(key)
            if region is None or offset + size > region.end:
                region = self.known[key] = self.map(offset, size, small)
                if len(self.known) > self.KEEP:
                    self.known.popitem(last=False)
            else:
                self.known.move_to_end(key)
            return region

    def map(self, offset, size, small):
        if small:
            base = offset >> 20 << 20
            return Region(base, min(self.WINDOW, os.fstat(MEMORY).st_size - base))
        base = offset & -mmap.ALLOCATIONGRANULARITY
        return Region(base, offset - base + size)


class Block:
    """Memory of the server that this process may use. Its end gives it back, unless its number is 0."""

    __slots__ = ("number", "base", "size", "host")

    def __init__(self, number, base, size, host):
        self.number, self.base, self.size, self.host = number, base, size, host

    def __del__(self):
        if self.number:
            self.host.release(self.number)


class Arena:
    """Memory for responses and requests. Small ones share a block."""

    SHARED, SMALL = 256 << 10, 64 << 10

    def __init__(self, host):
        self.host = host
        self.lock = threading.RLock()  # a destructor may send a response
        self.block, self.used = None, 0

    def place(self, size):
        """Returns a block and an offset in it; the block is None when there is no memory."""
        if size > self.SMALL:
            return self.host.reserve(size), 0
        with self.lock:
            if self.block is None or self.used + size > self.block.size:
                self.block, self.used = self.host.reserve(self.SHARED), 0
            offset = self.used
            self.used += size
            return self.block, offset
