"""Records in mistakes.txtar what NVIDIA's Model Analyzer says to wrong options.

Run it with a Python that has the package triton-model-analyzer, and with perf_analyzer on the path:
    python record.py mistakes.txtar
Each case runs in a child of this process, so that the package is imported once.
"""

import os
import re
import shlex
import signal
import sys
import tempfile

from model_analyzer import entrypoint

TAKEN = 'Path "output_model_repository" already exists.'  # as in mistakes_test.go


def run(args, config):
    """Returns the exit code and the output of one command line in a new folder."""
    folder = tempfile.mkdtemp()
    out = os.path.join(folder, "out")
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        os.mkdir("models")
        os.mkdir("output_model_repository")
        if config:
            with open("config.yaml", "w") as f:
                f.write(config)
        target = os.open(out, os.O_WRONLY | os.O_CREAT)
        os.dup2(target, 1)
        os.dup2(target, 2)
        signal.alarm(60)
        sys.argv = ["model-analyzer"] + args
        code = 0
        try:
            # The defaults hold the folder in which the package was imported.
            for module in ("config_defaults", "config_command_profile", "config_command_report"):
                m = sys.modules["model_analyzer.config.input." + module]
                for name in ("DEFAULT_CHECKPOINT_DIRECTORY", "DEFAULT_OUTPUT_MODEL_REPOSITORY", "DEFAULT_EXPORT_PATH"):
                    if hasattr(m, name):
                        setattr(m, name, {"C": "checkpoints", "O": "output_model_repository", "E": "."}[name[8]])
            entrypoint.main()
        except SystemExit as e:
            code = e.code or 0
        except BaseException as e:
            print(f"{type(e).__name__}: {e}")
            code = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    _, status = os.waitpid(child, 0)
    with open(out) as f:
        return os.waitstatus_to_exitcode(status), f.read()


def answer(code, text):
    lines, usage = [], False
    for line in text.split("\n"):
        usage = line.startswith("usage:") or (usage and line.startswith(" "))
        if usage or not line.strip():
            continue
        line = line.rstrip().removeprefix("[Model Analyzer] ").removeprefix("Model Analyzer encountered an error:").removeprefix(" ")
        line = line.removeprefix("TritonModelAnalyzerException: ")
        if line:
            lines.append(line)
    said = [l for l in lines if TAKEN not in l]
    if len(said) < len(lines) and all(l.startswith("WARNING") or l.startswith("Triton launch mode") for l in said):
        return "".join(["accepted\n"] + [l + "\n" for l in said])
    return f"exit {code}\n" + "".join(l + "\n" for l in said)


def main():
    path = sys.argv[1]
    with open(path) as f:
        parts = re.split(r"^-- (.*) --\n", f.read(), flags=re.M)
    args, config = "", ""
    for i in range(1, len(parts), 2):
        section = parts[i].rsplit("/", 1)[1]
        if section == "args":
            args, config = parts[i + 1], ""
        elif section == "file":
            config = parts[i + 1]
        elif section == "upstream":
            code, text = run(shlex.split(args), config)
            parts[i + 1] = answer(code, text)
    with open(path, "w") as f:
        f.write(parts[0])
        for i in range(1, len(parts), 2):
            f.write(f"-- {parts[i]} --\n{parts[i + 1]}")


main()
