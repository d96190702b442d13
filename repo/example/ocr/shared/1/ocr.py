"""Reads the text of pictures: all that happens before, between and after the two networks.

This file is the same in all models of the pipeline. Pictures are arrays of bytes [height, width, 3] with
the channels blue, green, red, as the networks learned them. Text must run from left to right.
"""

import io
import pathlib

import numpy as np

LONGEST = 960  # pixels of the longer side in the detector
MOST_PIXELS = 50_000_000  # of a picture: a small file can hold a picture larger than the memory
TEXT, SURE = 0.3, 0.5  # probability that a pixel belongs to text, and mean of those of a line
GROWTH = 1.6  # the detector finds the core of a line; this much is added around it
HEIGHT, NARROWEST, WIDEST, WIDTH_STEP = 48, 320, 3200, 32  # of a line in the recognizer
READ = 0.5  # mean probability of the characters of a line


def load_pillow():
    """Imports Pillow, or says how to install it."""
    try:
        import PIL.Image
        import PIL.ImageOps
    except ImportError as e:
        raise RuntimeError(
            f"{e}: pictures are decoded by the Python package pillow. Keep python_requirements in config.pbtxt, so "
            "that the server installs it, or install it yourself: python3 -m pip install pillow"
        ) from e
    return PIL


def decode(raw):
    """Returns the picture of an image file. What is not an image is a ValueError."""
    pil = load_pillow()
    try:
        with pil.Image.open(io.BytesIO(raw)) as image:
            width, height = image.size
            if width * height > MOST_PIXELS:
                raise ValueError(f"it has {width} x {height} pixels, more than {MOST_PIXELS}")
            image = pil.ImageOps.exif_transpose(image).convert("RGB")  # upright, as a camera held it
    except pil.UnidentifiedImageError:
        raise ValueError(f"the image cannot be read: its {len(raw)} bytes are in no format that Pillow knows") from None
    except Exception as e:  # decoders of broken files raise errors of many kinds
        raise ValueError(f"the image cannot be read: {e}") from e
    return np.ascontiguousarray(np.asarray(image)[:, :, ::-1])


def resize(picture, height, width):
    """Returns the picture in another size, by bilinear interpolation."""

    def sources(size, new):
        at = np.clip((np.arange(new, dtype=np.float32) + 0.5) * size / new - 0.5, 0, size - 1)
        low = at.astype(int)
        return low, np.minimum(low + 1, size - 1), at - low

    top, bottom, down = sources(picture.shape[0], height)
    left, right, along = sources(picture.shape[1], width)
    down, along = down[:, None, None], along[:, None]
    rows = picture[top] * (1 - down) + picture[bottom] * down
    return rows[:, left] * (1 - along) + rows[:, right] * along


def normalize(picture):
    """Returns the values of a picture as the networks take them: [3, height, width], from -1 to 1."""
    return np.ascontiguousarray(picture.transpose(2, 0, 1), dtype=np.float32) / 127.5 - 1


def detector_input(picture):
    """Returns x of text_detection, [1, 3, height, width], whose sides are multiples of 32."""
    scale = min(1, LONGEST / max(picture.shape[:2]))
    height, width = (max(32, round(n * scale / 32) * 32) for n in picture.shape[:2])
    return normalize(resize(picture, height, width))[None]


def regions(mask):
    """Returns the connected regions of a mask: for each a list of runs (row, first column, column after)."""
    edges = np.diff(np.pad(mask.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    rows, starts = np.nonzero(edges == 1)
    ends = np.nonzero(edges == -1)[1]
    runs = list(zip(rows.tolist(), starts.tolist(), ends.tolist()))
    parent = list(range(len(runs)))

    def root(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    above = 0  # the first run of the row above that may touch run i, or one of a row before
    for i, (row, start, end) in enumerate(runs):
        while runs[above][0] < row - 1 or (runs[above][0] == row - 1 and runs[above][2] <= start):
            above += 1
        j = above
        while runs[j][0] == row - 1 and runs[j][1] < end:
            parent[root(i)] = root(j)
            j += 1
    found = {}
    for i, run in enumerate(runs):
        found.setdefault(root(i), []).append(run)
    return list(found.values())


def find_lines(probabilities, height, width):
    """Returns the boxes (left, top, right, bottom) of the lines of text in a picture of this size.

    probabilities, [rows, columns], is the output of text_detection: for each pixel that of text.
    """
    vertical, horizontal = height / probabilities.shape[0], width / probabilities.shape[1]
    boxes = []
    for runs in regions(probabilities > TEXT):
        sure = np.mean(np.concatenate([probabilities[row, start:end] for row, start, end in runs]))
        top, bottom = runs[0][0], runs[-1][0] + 1
        left, right = min(run[1] for run in runs), max(run[2] for run in runs)
        if sure < SURE or min(bottom - top, right - left) < 3:
            continue
        more = GROWTH * (bottom - top) * (right - left) / (2 * (bottom - top + right - left))
        box = (
            max(round((left - more) * horizontal), 0), max(round((top - more) * vertical), 0),
            min(round((right + more) * horizontal), width), min(round((bottom + more) * vertical), height),
        )
        if box[0] < box[2] and box[1] < box[3]:
            boxes.append(box)
    return in_reading_order(boxes)


def in_reading_order(boxes):
    """Returns the boxes from top to bottom, and those side by side from left to right."""
    rows = []
    for box in sorted(boxes, key=lambda b: b[1] + b[3]):
        if rows and (box[1] + box[3]) / 2 < rows[-1][0][3]:
            rows[-1].append(box)
        else:
            rows.append([box])
    return [box for row in rows for box in sorted(row)]


def recognizer_input(picture, boxes):
    """Returns x of text_recognition, [lines, 3, 48, width]: the lines side by side with padding after them."""
    lines = [picture[top:bottom, left:right] for left, top, right, bottom in boxes]
    widths = [min(max(1, round(line.shape[1] * HEIGHT / line.shape[0])), WIDEST) for line in lines]
    widest = max([NARROWEST, *widths])
    x = np.zeros((len(lines), 3, HEIGHT, -(-widest // WIDTH_STEP) * WIDTH_STEP), np.float32)
    for i, (line, width) in enumerate(zip(lines, widths)):
        x[i, :, :, :width] = normalize(resize(line, HEIGHT, width))
    return x


def load_characters(folder):
    """Returns the characters of the classes of text_recognition. Class 0 is none."""
    return ["", *(pathlib.Path(folder) / "characters.txt").read_text(encoding="utf-8").split("\n")]


def read_lines(probabilities, characters):
    """Returns for each line its text and how sure it is, from the output of text_recognition.

    probabilities, [lines, columns, classes], has a class for each column of a line. A character may cover
    several columns; between two equal ones is class 0.
    """
    best, sure = probabilities.argmax(axis=2), probabilities.max(axis=2)
    new = best != np.pad(best, ((0, 0), (1, 0)))[:, :-1]
    keep = new & (best != 0)
    texts = ["".join(characters[c] for c in line[k]).strip() for line, k in zip(best, keep)]
    return texts, [float(s[k].mean()) if k.any() else 0.0 for s, k in zip(sure, keep)]


def results(texts, scores, boxes):
    """Returns the output tensors by name: the lines that were read. Texts without a box are left out."""
    found = [(t.encode(), s, b) for t, s, b in zip(texts, scores, boxes) if t and s >= READ]
    return {
        "text": np.array([text for text, _, _ in found], object),
        "score": np.array([score for _, score, _ in found], np.float32),
        "box": np.array([box for _, _, box in found], np.int32).reshape(-1, 4),
    }
