"""Pages of the documentation that are made from the code, so that they cannot differ from it, and links between pages.

Used by MkDocs (mkdocs.yml): `on_files` adds the pages, and those of notebooks; `on_page_markdown` turns links of the
repository into links of the site, and fills in tables of options. README, experiments and the guide for contributors
are pages of the site as well.
"""

from __future__ import annotations

import importlib
import inspect
import io
import os
import posixpath
import re
import sys
import textwrap
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent.parent
COMMANDS = ("", "run", "score", "compare", "analyse", "data", "check")
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
# Files of the repository from which a page is made: links to them lead to the page.
SOURCES = {"bmx_grid/__init__.py": "reference/python.md", "bmx_grid/measures/__init__.py": "reference/measures.md"}
# What functions return that has no public name: documented on the page of these functions.
RESULTS = {
    "bmx_grid": ("attribution.explain.Explanation", "evaluations.verdicts.Verdict"),
    "bmx_grid.measures": (
        "measures.annotators.Agreement",
        "measures.resampling.ClusterMean",
        "measures.paired_tests.Comparison",
        "measures.grid.GridResult",
        "measures.grouped.Grouped",
        "measures.word_measures.WordMeasure",
    ),
}
# A line of a page that is replaced by a table of all options of a group.
TABLE = re.compile(r"^<!-- options of (\w+) -->$", re.MULTILINE)
# Settings without which a metric cannot be made.
REQUIRED = {
    "judge": {"model": "m", "prompt": "gemba_da_noref"},
    "likelihood": {"model": "m"},
    "command": {"command": ["program"]},
}
LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")


def pages() -> dict[str, str]:
    """Markdown of the pages made from code, by their place in the site."""
    return {
        "reference/configuration.md": configuration(),
        "reference/files.md": files(),
        "reference/commands.md": commands(),
        "reference/python.md": python(),
        "reference/measures.md": measures(),
    }


def placed() -> dict[str, str]:
    """Files of the repository outside docs/ that are pages or pictures of the site: their place there."""
    found = dict(PAGES)
    for readme in sorted(ROOT.glob("experiments/*/README.md")):
        found[readme.relative_to(ROOT).as_posix()] = f"papers/{readme.parent.name}.md"
        for picture in sorted(readme.parent.glob("*.png")):
            found[picture.relative_to(ROOT).as_posix()] = f"papers/{readme.parent.name}-{picture.name}"
    return found


def configuration() -> str:
    """Every group, option and key: the options' files as they are, and what their classes say."""
    from bmx_grid.core.configure import CONFIGS, groups, options

    top = (CONFIGS / "config.yaml").read_text(encoding="utf-8")
    parts = [
        "# Configuration",
        "Every key can be set on the command line (`python -m bmx_grid limit=10 explainer.lime.num_samples=500`) and "
        "from Python ([`bmx_grid.run`](../how-to/use_python.md)). The keys at the top:",
        f"```yaml\n{top}```",
    ]
    for group in groups():
        parts.append(f"## {group}")
        for name in options(group):
            text = (CONFIGS / group / f"{name}.yaml").read_text(encoding="utf-8")
            parts.append(f"### {group}: {name}")
            cls = class_of(group, name)
            if cls is not None:
                parts.append(_prose(inspect.getdoc(cls) or ""))
            parts.append(f"```yaml\n{text}```")
    return "\n\n".join(parts) + "\n"


def fill_tables(markdown: str) -> str:
    """A page with a table of options in each place that names a group."""
    return TABLE.sub(lambda found: option_table(found[1]), markdown)


def option_table(group: str) -> str:
    """What each option of a group is; of a metric also what it reads and needs."""
    from bmx_grid.core.configure import options

    head = [group, "", *(["reads", "needs"] if group == "metric" else [])]
    rows = [head, ["---"] * len(head)]
    for name in options(group):
        row = [f"[`{name}`](configuration.md#{group}-{name})", description(group, name)]
        if group == "metric":
            marks, reads, needs = metric_properties(name)
            row[0] += marks
            row += [reads, needs]
        rows.append(row)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def description(group: str, name: str) -> str:
    """The comment that opens an option's file, with links to the pages that it names."""
    from bmx_grid.core.configure import CONFIGS

    words: list[str] = []
    for line in (CONFIGS / group / f"{name}.yaml").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        if not line.startswith("# @package"):
            words.append(line.removeprefix("#").strip())
    text = " ".join(words).replace("|", "\\|")
    text = re.sub(r"\bdocs/([\w/-]+\.md)", lambda found: f"[{title_of(found[1])}](../{found[1]})", text)
    return re.sub(r"\bexperiments/(\w+)(?:/README\.md)?", r"[\1](../../experiments/\1/README.md)", text)


def title_of(page: str) -> str:
    """The first line of a page."""
    return (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def metric_properties(name: str) -> tuple[str, str, str]:
    """Marks of a metric, what it compares with the translation, and what must be installed or downloaded for it."""
    from bmx_grid.core.configure import build, load_option
    from bmx_grid.metrics.base import Metric

    option = load_option("metric", name, seed=0)
    metric = build(option | REQUIRED.get(name, {}), Metric, name)
    marks = (" *" if "references" in option else "") + ("" if metric.higher_is_better else " ↓")
    reads = ", ".join(role for role in metric.reads if role != "hypothesis") or "–"
    needs = [f"`{extra}`" for extra in re.findall(r"'\.\[(\w+)\]'", description("metric", name))]
    model = str(option.get("model") or "")
    if model and not model.startswith("package:"):
        needs.append("download")
    return marks, reads, ", ".join(needs)


def files() -> str:
    """Every table that an evaluation writes, with its columns."""
    from bmx_grid.core.configure import options
    from bmx_grid.evaluations.base import NAMES, columns_of

    parts = [
        "# Files of a sweep",
        f"Each table is NAME.parquet in output_dir; its first columns are {', '.join(f'`{one}`' for one in NAMES)}. "
        "Undefined numbers are NaN. `scores.parquet` has one row per segment and setting, `settings.csv` one per "
        "setting with a grid. Tables without an evaluation of their own are `selection` (the median best points), "
        "`ridge` (factors of gains), `seeds` and `ceilings`.",
    ]
    for name in options("evaluation"):
        parts.append(f"## Evaluation {name}")
        parts.append(f"{description('evaluation', name)} [Keys](configuration.md#evaluation-{name}).")
        for table, row in class_of("evaluation", name).ROWS.items():
            parts.append(f"### {table}.parquet")
            text, _, attributes = (inspect.getdoc(row) or "").partition("\n\nAttributes:\n")
            if not text.startswith(f"{row.__name__}("):  # that of a dataclass without one
                parts.append(_prose(text))
            meanings = dict(re.findall(r"^ *(\w+): (.*)", re.sub(r"\n {5,}", " ", attributes), flags=re.MULTILINE))
            lines = ["| column | holds | |", "|---|---|---|"]
            for column, kind in columns_of(row).items():
                if column not in NAMES:
                    lines.append(f"| `{column}` | {kind} | {meanings.get(column, '')} |")
            parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def commands() -> str:
    """The help of every command."""
    parts = ["# Commands"]
    for name in COMMANDS:
        parts += [f"## bmx-grid {name}".rstrip(), f"```text\n{help_of(name)}\n```"]
    return "\n\n".join(parts) + "\n"


def help_of(name: str) -> str:
    """What `bmx-grid NAME --help` prints in a terminal of 80 columns; in this process, as each Python takes seconds."""
    from bmx_grid.__main__ import _run

    arguments = ["bmx-grid", *([name] if name else []), "--help"]
    status: object = 0
    with (
        mock.patch.object(sys, "argv", arguments),
        mock.patch.dict(os.environ, COLUMNS="80"),
        redirect_stdout(io.StringIO()) as shown,
    ):
        try:
            status = _run(name or "--help")
        except SystemExit as stop:
            status = stop.code
    assert not status, f"bmx-grid {name} --help has status {status}"
    return shown.getvalue().strip()


def python() -> str:
    """The public names of the package, from their docstrings."""
    import bmx_grid

    names = [name for name in bmx_grid.__all__ if not name.startswith("_")]
    tree = (inspect.getdoc(importlib.import_module("bmx_grid.core.errors")) or "").split("\n\n")[1]
    parts = [
        "# Python",
        "Examples: [Use Python](../how-to/use_python.md). All names are imported from `bmx_grid`; "
        "`bmx_grid.__version__` is the version of the package.",
        *listed_names("bmx_grid", sorted(names, key=str.lower)),
        "## Explanations and verdicts",
        *(f"::: bmx_grid.{name}\n    options: {{heading_level: 3}}" for name in RESULTS["bmx_grid"]),
        "## Errors",
        "All are imported from `bmx_grid.core.errors`.",
        f"```text\n{textwrap.dedent(tree)}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def measures() -> str:
    """The public names of the statistics, from their docstrings."""
    import bmx_grid.measures

    parts = [
        "# Statistics",
        "Examples: [Use the statistics](../how-to/use_the_statistics.md). All names are imported from "
        "`bmx_grid.measures`. `float64[N, K]` is an array with N rows and K columns; parameters of type `ArrayLike` "
        "also accept lists.",
        *listed_names("bmx_grid.measures", sorted(bmx_grid.measures.__all__, key=str.lower)),
        "## Results",
        *(f"::: bmx_grid.{name}\n    options: {{heading_level: 3}}" for name in RESULTS["bmx_grid.measures"]),
    ]
    return "\n\n".join(parts) + "\n"


def listed_names(module: str, names: Sequence[str]) -> list[str]:
    """A table of names with the first line of their docstrings, and the docstrings."""
    rows = ["| name | |", "|---|---|"]
    for name in names:
        docstring = inspect.getdoc(getattr(importlib.import_module(module), name)) or ""
        rows.append(f"| [`{name}`][{module}.{name}] | {docstring.splitlines()[0]} |")
    return ["\n".join(rows), *(f"::: {module}.{name}" for name in names)]


def class_of(group: str, name: str) -> Any:
    """The class that an option's file names; None for a file that names none, or several (a sweep)."""
    from bmx_grid.core.configure import CONFIGS, option_class

    text = (CONFIGS / group / f"{name}.yaml").read_text(encoding="utf-8")
    return None if group == "sweep" or text.count("_target_: ") != 1 else option_class(group, name)


def _prose(docstring: str) -> str:
    """A docstring as Markdown: indented lines join the line before them."""
    return re.sub(r"\n +", " ", docstring)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made, and those of the repository outside docs/."""
    from mkdocs.structure.files import File

    for place, text in pages().items():
        files.append(File.generated(config, place, content=text))
    for source, place in placed().items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / source)))
    for path in sorted((ROOT / "docs").glob("*.ipynb")):
        text, pictures = run_notebook().page(path)
        files.append(File.generated(config, f"{path.stem}.md", content=text))
        for name, picture in pictures.items():
            files.append(File.generated(config, name, content=picture))
    return files


def run_notebook() -> Any:
    """The module beside this file, which no package holds."""
    here = str(Path(__file__).parent)
    sys.path.insert(0, here)
    try:
        return importlib.import_module("run_notebook")
    finally:
        sys.path.remove(here)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links as they stand in the repository, which its own pages show as well, become links of the site."""
    own = page.file.src_uri
    if page.file.generated_by and own.startswith("reference/"):  # made by `pages`, with links of the site
        return markdown
    markdown = fill_tables(markdown)
    of_site = {place: source for source, place in placed().items()}
    source = of_site.get(own, f"docs/{own}")

    def linked(found: re.Match[str]) -> str:
        text, target = found.groups()
        path, _, anchor = target.partition("#")
        if not path or "://" in path:
            return found[0]
        there = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if (ROOT / there / "README.md").is_file():
            there = f"{there}/README.md"
        place = (placed() | SOURCES).get(there) or (there.removeprefix("docs/") if there.startswith("docs/") else None)
        if place is None:  # a file that is no page
            return f"`{there}`" if text == f"[{there}]" else f"{text.strip('![]')} (`{there}`)"
        place = re.sub(r"\.ipynb$", ".md", place)
        near = posixpath.relpath(place, posixpath.dirname(own) or ".")
        return f"{text}({near}{'#' + anchor if anchor else ''})"

    return LINK.sub(linked, markdown)
