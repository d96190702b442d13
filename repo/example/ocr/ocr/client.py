"""Reads the text of a picture: client.py [--url HOST:PORT] [--model ocr|ocr_bls] [IMAGE]

IMAGE is a file in any format that Pillow reads, such as PNG or JPEG; without it sample.png is read.
"""

import argparse
import array
import pathlib
import sys

sys.dont_write_bytecode = True  # a server that polls would take it for a change of the model

from v2 import Server, existing, strings


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--url", default="localhost:8000")
    p.add_argument("--model", default="ocr", choices=["ocr", "ocr_bls"])
    p.add_argument("image", nargs="?", type=existing, default=pathlib.Path(__file__).with_name("sample.png"))
    args = p.parse_args()
    image = args.image.read_bytes()
    raw = len(image).to_bytes(4, "little") + image  # a string is its length and its bytes
    answer = Server(args.url).outputs(args.model, "image", "BYTES", [1], raw)
    boxes = array.array("i", answer["box"][1])
    for i, (text, score) in enumerate(zip(strings(answer["text"][1]), array.array("f", answer["score"][1]))):
        left, top, right, bottom = boxes[4 * i : 4 * i + 4]
        print(f"{left:4} {top:4} {right:4} {bottom:4}  {score:.3f}  {text}")


if __name__ == "__main__":
    main()
