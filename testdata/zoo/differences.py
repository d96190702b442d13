"""Compares the results of a model on two servers, and checks the differences against the known ones."""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Difference:
    """A difference between our server and another: ONNX Runtime alone or NVIDIA's server."""

    model: str
    other: str  # "onnxruntime" or "nvidia"
    kind: str
    detail: str


def scalars_apart(ours, theirs):
    """Reports whether two results are equal except for the shape of scalars.

    A configuration has no scalars, so that servers return them as [1]; ONNX Runtime returns []."""
    if ours.keys() != theirs.keys():
        return False
    for name, a in ours.items():
        b = theirs[name]
        if b is None or (a.data_type, a.raw) != (b.data_type, b.raw):
            return False
        if a.shape != b.shape and (a.shape, b.shape) != ((1,), ()):
            return False
    return True


def with_onnxruntime(name, bare, ours):
    """Yields the differences between ONNX Runtime alone and our server."""
    if not ours.loaded:
        if bare.loaded:
            yield Difference(name, "onnxruntime", "not loaded", ours.reason)
        return
    if not bare.loaded:
        yield Difference(name, "onnxruntime", "loaded", bare.reason)
        return
    for protocol, answers in ours.answers.items():
        for a, b in zip(answers, bare.answers["onnxruntime"]):
            if isinstance(a, str) or isinstance(b, str):
                if isinstance(a, str) != isinstance(b, str):
                    yield Difference(name, "onnxruntime", f"refused over {protocol}" if isinstance(a, str) else f"answered over {protocol}", str(a if isinstance(a, str) else b))
            elif not scalars_apart(a, b):
                yield Difference(name, "onnxruntime", f"answers over {protocol}", unequal(a, b))


def unequal(ours, theirs):
    """Names the outputs that differ, and how."""
    words = []
    for name in sorted(ours.keys() | theirs.keys()):
        a, b = ours.get(name), theirs.get(name)
        if a == b:
            continue
        if a is None or b is None:
            words.append(f"{name} is missing on one side")
        elif (a.data_type, a.shape) != (b.data_type, b.shape):
            words.append(f"{name} is {a.data_type}{list(a.shape)}, there {b.data_type}{list(b.shape)}")
        else:
            words.append(f"bits of {name}")
    return ", ".join(words)


def with_nvidia(name, theirs, ours):
    """Yields the differences between NVIDIA's server and ours."""
    if ours.loaded != theirs.loaded:
        yield Difference(name, "nvidia", "loaded" if ours.loaded else "not loaded", theirs.reason or ours.reason)
        return
    if not ours.loaded:
        if not ours.reason.startswith(theirs.reason):  # ours may say more
            yield Difference(name, "nvidia", "reason", ours.reason)
        return
    for key in sorted(ours.config.keys() | theirs.config.keys()):
        if ours.config.get(key) != theirs.config.get(key):
            yield Difference(name, "nvidia", "configuration", f"{key}: {ours.config.get(key)}, there {theirs.config.get(key)}")
    for protocol, answers in ours.answers.items():
        for a, b in zip(answers, theirs.answers[protocol]):
            if a == b:
                continue
            words = unequal(a, b) if not isinstance(a, str) and not isinstance(b, str) else f"{a}"[:200]
            yield Difference(name, "nvidia", f"answers over {protocol}", words)


@dataclasses.dataclass
class Section:
    """Known differences of one reason."""

    other: str
    kind: str
    text: str  # what the detail contains
    always: bool  # whether each of them must show in every run
    reason: str
    models: set


HEADER = re.compile(r"\[(onnxruntime|nvidia)(, sometimes)?\] ([^:]+): (.*)")


def read(path):
    """Reads the list: comments with the reason, a header "[other] kind: text", the models."""
    sections, reason = [], []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.strip()
        if not line:
            reason = []
            continue
        if line.startswith("#"):
            reason.append(line.lstrip("# "))
            continue
        header = HEADER.fullmatch(line)
        if header:
            if not reason:
                raise SystemExit(f"{path}:{number}: no reason above {line}")
            sections.append(Section(header[1], header[3], header[4], not header[2], " ".join(reason), set()))
        elif not sections or line.startswith("["):
            raise SystemExit(f"{path}:{number}: neither a header nor a model below one: {line}")
        else:
            sections[-1].models.add(line)
    return sections


def check(found, sections, others):
    """Returns the differences that no section lists, and the listed ones that no longer occur."""
    shown, unknown = set(), []
    for d in found:
        k = next((k for k, s in enumerate(sections) if (s.other, s.kind) == (d.other, d.kind) and s.text in d.detail and d.model in s.models), None)
        if k is None:
            unknown.append(d)
        else:
            shown.add((k, d.model))
    missing = [
        f"[{s.other}] {s.kind}: {s.text}: {m}"
        for k, s in enumerate(sections)
        for m in sorted(s.models)
        if s.always and s.other in others and (k, m) not in shown
    ]
    return unknown, missing
