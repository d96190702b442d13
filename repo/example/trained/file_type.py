"""Prints the types of files by their content: client.py [--url HOST:PORT] FILE..."""

import argparse
import array
import sys

sys.dont_write_bytecode = True  # a server that polls would take it for a change of the model

from v2 import Server, existing, strings

SIZE, BLOCK, NOTHING = 1024, 4096, 256


def features(path):
    """Returns the input of the model: the first and the last 1024 bytes, without outer white space."""
    with open(path, "rb") as f:
        start = f.read(BLOCK).lstrip()
        f.seek(max(f.seek(0, 2) - BLOCK, 0))
        end = f.read(BLOCK).rstrip()
        if f.tell() <= BLOCK:
            start = end = start.strip()
    start, end = list(start[:SIZE]), list(end[-SIZE:])
    return start + [NOTHING] * (SIZE - len(start)) + [NOTHING] * (SIZE - len(end)) + end


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--url", default="localhost:8000")
    p.add_argument("files", nargs="+", type=existing)
    args = p.parse_args()
    server = Server(args.url)
    best = {"name": "target_label", "parameters": {"classification": 1}}
    for path in args.files:
        raw = array.array("i", features(path)).tobytes()
        _, labels = server.infer("file_type", "bytes", "INT32", [1, 2 * SIZE], raw, best)
        score, _, label = strings(labels)[0].split(":", 2)
        print(f"{path}: {label} ({float(score):.3f})")


if __name__ == "__main__":
    main()
