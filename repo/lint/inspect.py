"""Reads Python models without running them.

Standard input is a JSON list of paths. Standard output is a JSON object with the version of the
interpreter and the description of each file.
"""

import ast
import json
import sys
import warnings

NAME = "TritonPythonModel"


def statements(body):
    """Yields the statements of a module or class, including those in nested blocks."""
    for s in body:
        yield s
        for field in ("body", "orelse", "finalbody"):
            if not isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from statements(getattr(s, field, []))
        for handler in getattr(s, "handlers", []):
            yield from statements(handler.body)


def names(s):
    """Returns the names that a statement binds; None means unknown names (import *)."""
    if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [s.name]
    if isinstance(s, (ast.Import, ast.ImportFrom)):
        return [None if a.name == "*" else a.asname or a.name for a in s.names]
    targets = getattr(s, "targets", None) or [getattr(s, "target", None)]
    return [n.id for t in targets if t is not None for n in ast.walk(t) if isinstance(n, ast.Name)]


def find(tree):
    """Describes the class of the model: whether it exists, and its methods."""
    found = {"class": False, "line": 1, "execute": False, "complete": False}
    for s in statements(tree.body):
        bound = names(s)
        if isinstance(s, ast.ClassDef) and s.name == NAME:
            methods = [n for m in statements(s.body) for n in names(m)]
            known = not s.keywords and not s.decorator_list and all(isinstance(b, ast.Name) and b.id == "object" for b in s.bases)
            found.update({"class": True, "line": s.lineno, "execute": "execute" in methods or not known,
                          "complete": "auto_complete_config" in methods, "known": known})
        elif NAME in bound or None in bound and not found["class"]:
            found.update({"class": True, "execute": True, "known": False})
    return found


def inspect(path):
    try:
        with open(path, "rb") as f:
            source = f.read()
        compile(source, path, "exec", dont_inherit=True)
        return find(ast.parse(source, path))
    except SyntaxError as e:
        return {"error": f"{type(e).__name__}: {e.msg}", "line": e.lineno or 0, "col": e.offset or 0}
    except (ValueError, RecursionError, MemoryError) as e:
        return {"error": f"{type(e).__name__}: {e}"}
    except OSError:
        return {"class": True, "execute": True, "known": False}  # another rule reports it


def main():
    warnings.simplefilter("ignore")
    result = {"version": ".".join(map(str, sys.version_info[:2])), "files": [inspect(p) for p in json.load(sys.stdin)]}
    json.dump(result, sys.stdout)


main()
