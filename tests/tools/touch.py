"""How much of the package one call touches: what a reader has to hold in mind to follow it.

usage: touch.py [--list] CALL      run | analyse | compare | score: small calls on made-up data and the embedded sample
       touch.py [--list] COMMAND ARGUMENT...      any command line of bmx-grid, in this process

functions: code objects of the package that ran, without comprehensions (Python 3.12 has no frames for them) and without
what ran while modules were defined. modules: those with such a function. classes: those of which a constructor written
in Python ran (`__init__`, that of a dataclass, that of a NamedTuple); exceptions and enumerations have none.
pairs: caller -> callee, of two different modules; through other packages, such as a `cached_property`, as well.
imported: modules of the package that are in sys.modules at the end. Work in other processes is not seen.
"""

import argparse
import collections
import contextlib
import importlib
import io
import os
import sys
import tempfile
import threading
from pathlib import Path

PACKAGE = "bmx_grid"
IS_FUNCTION = 1  # CO_OPTIMIZED: not set in the code of modules and of class bodies
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
SWEEP = "run +sweep=quickstart limit=6 executor=sequential tracking=none cache_dir=cache output_dir=out"
CALLS = {
    "run": SWEEP,
    "analyse": "analyse out",
    "compare": "compare table.csv --metrics a b --human human --resamples 100",
    "score": "score --metric chrf --explainer erasure -p -1 -w 0.5 -r texts.txt -t texts.txt",
}


class Touched:
    """What a profile function has seen; `profile` is given to `sys.setprofile`."""

    def __init__(self):
        self.functions = set()
        self.modules = set()
        self.classes = set()
        self.pairs = collections.Counter()
        self.seen = set()

    def profile(self, frame, event, _):
        if event != "call":
            return
        code = frame.f_code
        if code.co_varnames and (code.co_name == "__init__" or code.co_varnames[0] == "_cls"):
            self._made(frame)
        caller = frame.f_back
        key = (code, caller and caller.f_code)
        if key in self.seen:
            return
        self.seen.add(key)
        module = own_module(frame)
        if module is None or code.co_filename.startswith("<") or not code.co_flags & IS_FUNCTION:
            return
        while caller is not None and own_module(caller) is None:
            caller = caller.f_back
        if caller is not None and not caller.f_code.co_flags & IS_FUNCTION:
            return  # called while a module or a class is defined
        self.modules.add(module)
        if code.co_name not in COMPREHENSIONS:
            self.functions.add(code)
        if caller is not None and own_module(caller) != module:
            self.pairs[own_module(caller), module] += 1

    def _made(self, frame):
        first = frame.f_locals.get(frame.f_code.co_varnames[0])
        made = first if issubclass(type(first), type) else type(first)
        if made.__module__.split(".")[0] == PACKAGE:
            self.classes.add((made.__module__, made.__qualname__))


def own_module(frame):
    name = frame.f_globals.get("__name__") or ""
    return name if name.split(".")[0] == PACKAGE else None


def command(line, touched=None):
    name, *arguments = line
    main = importlib.import_module(f"{PACKAGE}.commands.{name}").main
    profile = None if touched is None else touched.profile
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        return main(arguments)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("call", nargs=argparse.PARSER)
    parsed = parser.parse_args()
    line = CALLS.get(parsed.call[0], "").split() if len(parsed.call) == 1 else parsed.call
    touched = Touched()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        if len(parsed.call) == 1:
            os.chdir(folder)
            rows = [f"{n},{n % 7},{n % 5},{n % 7 + n % 3}" for n in range(60)]
            Path("table.csv").write_text("\n".join(["id,a,b,human", *rows, ""]))
            Path("texts.txt").write_text("the cat sat\na dog ran home\n")
        if parsed.call == ["analyse"]:
            command(SWEEP.split())
        status = command(line, touched)
    imported = [name for name in sys.modules if name.split(".")[0] == PACKAGE]
    counts = f"modules {len(touched.modules)}, functions {len(touched.functions)}, classes {len(touched.classes)}"
    counts += f", pairs {len(touched.pairs)}, imported {len(imported)}"
    print(f"{' '.join(parsed.call)}: exit {status}; {counts}")
    if parsed.list:
        by_module = collections.Counter(code.co_filename.partition(f"{PACKAGE}/")[2] for code in touched.functions)
        print(*(f"{count:5} {name}" for name, count in sorted(by_module.items())), sep="\n")


if __name__ == "__main__":
    main()
