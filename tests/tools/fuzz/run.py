"""Generated mistakes, tried one after the other: each must be accepted, or refused in one sentence.

    make fuzz                                          300 inputs, at most five minutes
    make fuzz FUZZ="--count 2000 --seed 3 --seconds 3600"
    make fuzz FUZZ="--seed 3 --kind tables --number 17"    one of them again, with what was said

A refusal must be one printable line that names what it is about (the file, or a word of the arguments) and what to do.
The exit status is 1 where an input ends in a traceback, runs longer than LONGEST seconds or is refused in other words;
each such input is printed with its seed and number.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
os.environ |= {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}

from tools.fuzz import (  # noqa: E402
    archives,
    arguments,
    calls,
    commands,
    components,
    habits,
    models,
    overrides,
    own_parts,
    people,
    scores,
    signals,
    strangers,
    surroundings,
    sweeps,
    tables,
    texts,
    trees,
)

LONGEST = 60
LENGTH = 1_200
# What a sentence says when it names the way out: what is expected, what there is, or what to do.
WAY_OUT = re.compile(
    r"\b(expect\w*|must|needs|there (are|is)|did you mean|can be|may (be|have)|at (most|least)|is it|instead|one each"
    r"|perhaps|broken line|is outside|a valid|available|line \d+, in|f\(hypotheses"
    r"|leave|write|give|get|set|choose|use|add|list|raise|name|names|put|save|download|copy|check|replace|rename|install"
    r"|run the sweep|delete|correct|keep|score it in|take|close|quote|unpack|pass|shorten|lower|scale|show|call)\b",
    re.IGNORECASE,
)
Try = Callable[[], str]  # the refusal, "" where the input was accepted


class TooLong(Exception):
    """An input took longer than LONGEST seconds."""


def of_overrides(seed: int, numbers: range, folder: Path) -> Iterator[tuple[int, str, Try]]:
    from bmx_grid.commands.run import compose_and_run

    overrides.write_options(folder)
    sys.path.insert(0, str(folder))  # where the foreign code lies that may not run
    for number, given in list(enumerate(overrides.inputs(seed, numbers.stop)))[numbers.start :]:
        shows = any(one.startswith("--cfg") for one in given)
        whole = (*given, *(() if shows else ("dry_run=true",)))
        yield number, repr(given), lambda whole=whole: _commanded(lambda: compose_and_run(whole), whole, folder)


def of_arguments(seed: int, numbers: range, folder: Path) -> Iterator[tuple[int, str, Try]]:
    from bmx_grid.commands.score import main

    arguments.write_files(folder)
    for number, given in list(enumerate(arguments.inputs(seed, numbers.stop)))[numbers.start :]:
        yield number, repr(given), lambda given=given: _commanded(lambda: main(given), given, folder)


def of_files(module, seed: int, numbers: range, folder: Path) -> Iterator[tuple[int, str, Try]]:
    """Files that a module makes, each read by its `answer`."""

    def read(path: Path) -> str:
        said = module.answer(path)
        return _sentence(said, [path.name, *getattr(module, "ALSO", ())]).replace(str(path), path.name) if said else ""

    for number, (reason, path) in enumerate(module.inputs(seed, numbers.stop, folder)):
        if number >= numbers.start:
            yield number, reason, lambda path=path: read(path)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def of_texts(seed: int, numbers: range, folder: Path) -> Iterator[tuple[int, str, Try]]:
    """Pairs of texts, through one lexical metric and one explainer after the other."""
    import bmx_grid
    from bmx_grid.core.errors import BmxError

    scorers = [
        bmx_grid.load(metric, explainer, p=-0.3, w=0.6, settings=settings)
        for metric in ("sentence_bleu", "chrf", "random")
        for explainer, settings in (
            ("erasure", {}),
            ("lime", {"explainer.num_samples": 20}),
            ("shap", {"explainer.max_evals": 501}),
        )
    ]

    def scored(number: int, pair: tuple[str, str]) -> str:
        try:
            scorer = scorers[number % len(scorers)]
            ground_truth = "references" if "reference" in scorer.reads else "sources"
            found = scorer.score([pair[1]], **{ground_truth: [pair[0]]})
        except BmxError as error:
            return _sentence(str(error), ["segment 1"])
        if found.shape != (1,) or not abs(found[0]) < float("inf"):
            raise AssertionError(f"the score is {found}")
        return ""

    for number, pair in list(enumerate(texts.inputs(seed, numbers.stop, surrogates=True)))[numbers.start :]:
        shown = ", ".join(ascii(text if len(text) <= 200 else f"{text[:200]}… ({len(text)})") for text in pair)
        yield number, shown, lambda number=number, pair=pair: scored(number, pair)


def of_components(seed: int, numbers: range, folder: Path) -> Iterator[tuple[int, str, Try]]:
    """Metrics and explainers that break their contract: the other settings of their sweep have results."""

    def swept(which: tuple[str, str, str], own: Path) -> str:
        return "\n".join(components.answer(*which, own))

    for number, (shown, *which) in list(enumerate(components.inputs(seed, numbers.stop)))[numbers.start :]:
        own = folder / str(number)
        yield number, shown, lambda which=tuple(which), own=own: swept(which, own)
        shutil.rmtree(own, ignore_errors=True)


def of_work(module, seed: int, numbers: range, folder: Path) -> Iterator[tuple[int, str, Try]]:
    """What a module makes with the work that tries it, and that knows what must come of it."""
    for number, (shown, work) in enumerate(module.inputs(seed, numbers.stop, folder)):
        if number >= numbers.start:
            yield number, shown, lambda work=work: _sentence_or_none(work())


def of_signals(seed: int, numbers: range, folder: Path) -> Iterator[tuple[int, str, Try]]:
    """Signals to a sweep that starts or scores."""
    for number, (shown, *how) in list(enumerate(signals.inputs(seed, numbers.stop)))[numbers.start :]:
        own = folder / str(number)
        own.mkdir()
        yield number, shown, lambda how=tuple(how), own=own: signals.answer(own, *how)
        shutil.rmtree(own, ignore_errors=True)


KINDS = {
    "overrides": of_overrides,
    "tables": partial(of_files, tables),
    "people": partial(of_files, people),
    "habits": partial(of_work, habits),
    "archives": partial(of_files, archives),
    "scores": partial(of_files, scores),
    "trees": partial(of_files, trees),
    "own_parts": partial(of_work, own_parts),
    "strangers": partial(of_work, strangers),
    "sweeps": partial(of_files, sweeps),
    "arguments": of_arguments,
    "texts": of_texts,
    "commands": partial(of_work, commands),
    "calls": partial(of_work, calls),
    "components": of_components,
    "models": partial(of_files, models),
    "surroundings": partial(of_work, surroundings),
    "signals": of_signals,
}


def _commanded(work: Callable[[], int], given, folder: Path) -> str:
    """The refusal of a command. Raises AssertionError for anything but scores, a plan or a sentence."""
    from bmx_grid.core.terminal import command

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    usage = False
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = command(work)
        except SystemExit as error:  # argparse, which shows the usage as the way out, then what is wrong
            if not err.buffer.getvalue().startswith(b"usage: "):
                raise
            status, usage = error.code, True
    said = err.buffer.getvalue().decode()
    if "Traceback" in said or status not in (0, 1, 2):
        raise AssertionError(f"status {status}: {said}")
    if (folder / "RAN").exists():
        raise AssertionError("foreign code ran")
    if overrides.LEAKED in said + out.buffer.getvalue().decode():
        raise AssertionError("a file was shown that no option is")
    if status != 2:
        return ""
    answer = said.partition("error: ")[2].removesuffix("\n")
    words = [word for one in given for word in (one, repr(one)[1:-1], *re.split(r"\W+", one)) if word]
    if len(words) and {"-m", "--multirun"} & set(given):  # one sentence for each of its runs
        return "\n".join(_sentence(line.removeprefix("error: "), words) for line in answer.split("\n"))
    # A part that is missing, an empty name and the model behind an explainer are named in other words.
    return _sentence(answer, [*words, "''", ".:", "--", "model"], usage)


def _sentence(said: str, named: list[str], usage: bool = False) -> str:
    """`said`, once it is one printable line that names what it is about and the way out (or `usage` was shown)."""
    cut = [one[:40] for one in named if len(one) > 40]  # a long one is shown in part
    wrong = (
        "it says nothing"
        if not said
        else "it is not one printable line"
        if not said.isprintable()
        else "it is long"
        if len(said) > LENGTH
        else "it does not name what it is about"
        if not any(one.lower() in said.lower() for one in [*named, *cut])
        else "it does not say the way out"
        if not usage and not WAY_OUT.search(said)
        else ""
    )
    if wrong:
        raise AssertionError(f"refused, but {wrong}: {said}")
    return said


def _sentence_or_none(said: str) -> str:
    return _sentence(said, [""]) if said else ""


def _answer(work: Try) -> tuple[str, str]:
    """(refusal, fault): what an input came to."""

    def end(*_: object) -> None:
        raise TooLong(f"longer than {LONGEST} s")

    signal.signal(signal.SIGALRM, end)
    signal.alarm(LONGEST)
    try:
        return work(), ""
    except (AssertionError, TooLong) as error:
        return "", str(error)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return "", traceback.format_exc()
    finally:
        signal.alarm(0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300, help="inputs of all kinds together (300)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=300, help="when to stop, whatever is left (300)")
    parser.add_argument("--kind", choices=list(KINDS), action="append", help="this kind alone (repeatable)")
    parser.add_argument("--number", type=int, help="this input of --kind alone, with the answer")
    given = parser.parse_args()
    kinds = given.kind or list(KINDS)
    from bmx_grid.datasets import tables as read_tables

    read_tables.LARGEST_TABLE = tables.MAX_BYTES
    if min(given.count, given.seed) < 0 or (given.number is not None and (given.number < 0 or len(kinds) != 1)):
        parser.error("--count and --seed are 0 or more, and --number is one of a single --kind")
    each = -(-given.count // len(kinds))
    numbers = range(each) if given.number is None else range(given.number, given.number + 1)
    share, home, faults, total = given.seconds / len(kinds), Path.cwd(), 0, 0
    for kind in kinds:
        tried = refused = wrong = 0
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as name:
            os.chdir(name)
            try:
                for number, shown, work in KINDS[kind](given.seed, numbers, Path(name)):
                    if time.monotonic() - start > share:
                        break
                    refusal, fault = _answer(work)
                    tried, refused, bad = tried + 1, refused + bool(refusal), bool(fault)
                    if bad:
                        wrong += 1
                        print(f"--seed {given.seed} --kind {kind} --number {number}: {shown}\n{fault}\n", flush=True)
                    elif given.number is not None:
                        print(f"{shown}\n{refusal or 'accepted'}")
            finally:
                os.chdir(home)
        took = time.monotonic() - start
        total, faults = total + tried, faults + wrong
        stopped = "" if tried == len(numbers) else f" of {len(numbers)}, time is up"
        said = f"{tried - refused - wrong:5} accepted  {refused:5} refused  {wrong:3} in another way"
        print(f"{kind:10} {tried:5} tried{stopped}  {said}  {took:5.0f} s", flush=True)
    print(f"{'all':10} {total:5} tried, {faults} answered in another way than a result or one sentence", flush=True)
    return 1 if faults or not total else 0


if __name__ == "__main__":
    sys.exit(main())
