"""Reads a line of text: client.py [--url HOST:PORT] [IMAGE.pgm]

IMAGE is a picture of one line of dark text on a bright ground, as a binary PGM file of 8 bits ("convert
line.png line.pgm" makes one); without it sample.pgm is read.
"""

import argparse
import array
import pathlib
import sys

sys.dont_write_bytecode = True  # a server that polls would take it for a change of the model

from v2 import Server, existing

HERE = pathlib.Path(__file__).parent
HEIGHT, MIN_WIDTH = 48, 320


def image(path):
    """Returns width, height and the pixels of a PGM file, row by row."""
    fields, at, data = [], 0, path.read_bytes()
    while len(fields) < 4:  # format, width, height, largest value; comments may be between them
        while data[at : at + 1].isspace():
            at += 1
        end = at
        while end < len(data) and not data[end : end + 1].isspace():
            end += 1
        if data[at : at + 1] == b"#":
            at = data.index(b"\n", at)
            continue
        fields.append(data[at:end])
        at = end
    if fields[0] != b"P5" or fields[3] != b"255":
        raise SystemExit(f"{path}: not a binary PGM file of 8 bits")
    width, height = int(fields[1]), int(fields[2])
    return width, height, data[at + 1 : at + 1 + width * height]


def tensor(width, height, pixels):
    """Scales the picture to the model's height and pads it. Returns the width and the values."""
    scaled = max(1, round(width * HEIGHT / height))
    rows = []
    for y in range(HEIGHT):
        v = min(max((y + 0.5) * height / HEIGHT - 0.5, 0), height - 1)
        top, down = int(v), v - int(v)
        below = min(top + 1, height - 1)
        row = []
        for x in range(scaled):
            u = min(max((x + 0.5) * width / scaled - 0.5, 0), width - 1)
            left, right = int(u), u - int(u)
            after = min(left + 1, width - 1)
            a = pixels[top * width + left] * (1 - right) + pixels[top * width + after] * right
            b = pixels[below * width + left] * (1 - right) + pixels[below * width + after] * right
            row.append((a * (1 - down) + b * down) / 127.5 - 1)
        rows += row + [0.0] * (MIN_WIDTH - scaled)
    return max(scaled, MIN_WIDTH), array.array("f", rows * 3).tobytes()


def decode(shape, raw):
    """Returns the text: the best class of each column, without repeats and blanks."""
    characters = ["", *(HERE / "characters.txt").read_text(encoding="utf-8").split("\n")]
    values, classes, text, before = array.array("f", raw), shape[2], [], 0
    for column in range(shape[1]):
        row = values[column * classes : (column + 1) * classes]
        best = row.index(max(row))
        if best != before:
            text.append(characters[best])
        before = best
    return "".join(text).strip()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--url", default="localhost:8000")
    p.add_argument("image", nargs="?", type=existing, default=HERE / "sample.pgm")
    args = p.parse_args()
    width, raw = tensor(*image(args.image))
    print(decode(*Server(args.url).infer("text_recognition", "x", "FP32", [1, 3, HEIGHT, width], raw)))


if __name__ == "__main__":
    main()
