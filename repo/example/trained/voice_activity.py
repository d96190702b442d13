"""Prints when speech begins and ends: client.py [--url HOST:PORT] [--step] [FILE.wav]

The sound is sent as from a microphone, 32 milliseconds at a time, as the requests of one sequence. The
state of the model between them is on the server. FILE is 16 kHz, one channel, 16 bits; without it
the synthetic voice of sample.wav is used. With --step the probability of each step is printed too.
"""

import argparse
import array
import os
import pathlib
import struct
import sys
import wave

sys.dont_write_bytecode = True  # a server that polls would take it for a change of the model

from v2 import Server, existing

RATE, STEP, BEFORE = 16000, 512, 64
SPEECH, SILENCE, PAUSE = 0.5, 0.35, 8


def sound(path):
    """Returns the samples of a WAV file, -1 to 1."""
    with wave.open(str(path)) as f:
        if (f.getframerate(), f.getnchannels(), f.getsampwidth()) != (RATE, 1, 2):
            raise SystemExit(f"{path}: needs {RATE} Hz, one channel, 16 bits")
        return [v / 32768 for v in array.array("h", f.readframes(f.getnframes()))]


def probabilities(server, samples):
    """Yields the probability of speech of each step."""
    sequence, before = int.from_bytes(os.urandom(6), "little") + 1, [0.0] * BEFORE
    steps = range(0, len(samples) - STEP + 1, STEP)
    for at in steps:
        now = samples[at : at + STEP]
        raw = array.array("f", before + now).tobytes()
        _, answer = server.infer(
            "voice_activity", "input", "FP32", [1, BEFORE + STEP], raw,
            sequence_id=sequence, sequence_start=at == 0, sequence_end=at == steps[-1],
        )
        before = now[-BEFORE:]
        yield struct.unpack("<f", answer)[0]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--url", default="localhost:8000")
    p.add_argument("--step", action="store_true")
    p.add_argument("file", nargs="?", type=existing, default=pathlib.Path(__file__).with_name("sample.wav"))
    args = p.parse_args()
    samples = sound(args.file)
    begin, quiet, n = None, 0, 0
    for n, speech in enumerate(probabilities(Server(args.url), samples), 1):
        if args.step:
            print(f"{(n - 1) * STEP / RATE:6.2f} s  {speech:.3f}")
        if begin is None and speech >= SPEECH:
            begin = n - 1
        quiet = quiet + 1 if speech < SILENCE else 0
        if begin is not None and quiet == PAUSE:
            print(f"speech from {begin * STEP / RATE:.2f} s to {(n - PAUSE) * STEP / RATE:.2f} s")
            begin = None
    if begin is not None:
        print(f"speech from {begin * STEP / RATE:.2f} s to the end")
    print(f"{n} steps, {len(samples) / RATE:.2f} s of sound")


if __name__ == "__main__":
    main()
