"""Paths with placeholders: which files hold whose scores."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bmx_grid.errors import ConfigError, DataMissingError, unknown

PLACEHOLDERS = ("metric", "language_pair", "dataset", "level")
SIDES = ("target", "source", "reference")  # what {side} stands for, in paths of word scores
LEVELS = ("seg", "sys")  # what {level} stands for: scores of segments and of systems
_PART = re.compile(r"\{(\w*)\}|(\*+|\?|\[[^\]/]+\])")
TREE = "metric-scores"  # the folder of metrics in a test set of mt-metrics-eval


class PathPattern:
    """A path in which {metric}, {language_pair}, {dataset}, {level} and {side} stand for names; *, ? and [] glob.

    key: where the path was given, for messages. placeholders: those that it may have. The folder of a test set of
    mt-metrics-eval stands for all its metrics. Raises ConfigError for another placeholder.
    """

    def __init__(self, text: str, key: str, placeholders: Sequence[str] = PLACEHOLDERS) -> None:
        self.key, self.text = key, str(Path(text).expanduser())
        if (Path(self.text) / TREE).is_dir():
            self.text = f"{self.text}/{TREE}/{{language_pair}}/{{metric}}.{{level}}.score"
        self._literal = Path(self.text).exists()  # a name may hold brackets or stars
        self._names = set() if self._literal else {found[1] for found in _PART.finditer(self.text) if found[2] is None}
        for name in self._names:
            if name not in placeholders:
                raise ConfigError(f"{key}: {self.text!r}: " + unknown("placeholder", name, placeholders))

    def has(self, placeholder: str) -> bool:
        """Whether the path depends on this name."""
        return placeholder in self._names

    def metrics(self, dataset: str, language_pair: str) -> set[str]:
        """The names that {metric} stands for in the files there are, blanks at the ends removed."""
        found = self._files({"dataset": dataset, "language_pair": language_pair})
        return {names["metric"].strip() for _, names in found}

    def metrics_of_all(self, pairs: Sequence[tuple[str, str]]) -> list[str]:
        """The names that {metric} stands for in any of these data sets and language pairs, sorted.

        Raises DataMissingError when there are pairs, and no file of any.
        """
        found = sorted({name for pair in pairs for name in self.metrics(*pair)})
        if pairs and not found:
            of = ", ".join(dict.fromkeys(pair for _, pair in pairs))
            raise DataMissingError(
                f"{self.key}: no file fits {self.text!r} for {of} (looked in {Path.cwd()}); name files that there are."
            )
        return found

    def files(self, metric: str, dataset: str, language_pair: str) -> dict[str, Path]:
        """The files of a metric, a data set and a language pair, by level; "" where the path does not say the level.

        Raises ConfigError naming both when two files fit.
        """
        return self._by("level", LEVELS, metric, dataset, language_pair)

    def of_sides(self, metric: str, dataset: str, language_pair: str) -> dict[str, Path]:
        """The same by side: "" where the path does not say the side."""
        return self._by("side", SIDES, metric, dataset, language_pair)

    def _by(self, part: str, allowed: Sequence[str], metric: str, dataset: str, language_pair: str) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for path, names in self._files({"dataset": dataset, "language_pair": language_pair}):
            if names.get("metric", metric).strip() != metric or names.get(part, allowed[0]) not in allowed:
                continue
            first = found.setdefault(names.get(part, ""), path)
            if first != path:
                raise ConfigError(f"both {first} and {path} fit {self.text!r} for {language_pair}; name one of them.")
        return found

    def _files(self, names: Mapping[str, str]) -> Iterator[tuple[Path, dict[str, str]]]:
        """The files that fit, sorted, each with what its placeholders stand for; `names` are given."""
        if self._literal:
            yield Path(self.text), {}
            return
        globbed, regex, start = "", "", 0
        for found in _PART.finditer(self.text):
            plain = self.text[start : found.start()]
            start = found.end()
            name, wild = found[1], found[2]
            if wild is not None:
                globbed += plain + wild
                regex += re.escape(plain) + (f"[{wild[1:-1].replace('!', '^', 1)}]" if wild[0] == "[" else _any(wild))
                continue
            regex += re.escape(plain)
            if name in names:
                globbed += plain + glob.escape(names[name])
                regex += re.escape(names[name])
            else:
                globbed += f"{plain}*"
                regex += f"(?P={name})" if f"(?P<{name}>" in regex else f"(?P<{name}>[^/]+)"
        globbed += self.text[start:]
        matcher = re.compile(regex + re.escape(self.text[start:]))
        for path in sorted(glob.glob(globbed)):
            fit = matcher.fullmatch(path)
            if fit is not None and Path(path).is_file():
                yield Path(path), fit.groupdict()


def _any(wild: str) -> str:
    return "[^/]" if wild == "?" else "[^/]*"
