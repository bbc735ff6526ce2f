"""The documentation: its notebook runs, its site builds, every key is explained.

tests/test_doc_pages.py runs its pages.
"""

import importlib
import inspect
import json
import os
import re
import subprocess
import sys

import pytest
import yaml
from fakes import ROOT
from scripts import script

import bmx_grid
from bmx_grid import measures
from bmx_grid.core.configure import CONFIGS, groups, options


def text_of(page: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


def test_the_bibtex_is_that_of_the_citation_file():
    """Title, version, licence, authors and number of what CITATION.cff names first."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    shown = text_of("how-to/reproduce_a_paper.md").replace("\\_", "_").replace("{", "").replace("}", "")
    paper = cited["references"][0]
    authors = " and ".join(f"{author['family-names']}, {author['given-names']}" for author in paper["authors"])
    arxiv = paper["identifiers"][0]["value"]
    for value in (cited["title"], cited["authors"][0]["name"], paper["title"], authors, arxiv, str(paper["year"])):
        assert f"= {value}" in shown
    assert (cited["version"], cited["license"]) == (bmx_grid.__version__, "Apache-2.0")
    assert f"= {cited['version']}" in shown and f"= {cited['license']}" in shown


def test_pictures_of_the_documentation_are_small():
    sizes = {path.name: path.stat().st_size for path in (ROOT / "docs").glob("*.png")}
    assert "page.png" in sizes and max(sizes.values()) <= 150_000


def of_figure(file):
    """Title and caption of an SVG, without numbers."""
    text = file.read_text(encoding="utf-8")
    title, caption = (re.search(f"<dc:{name}>(.*?)</dc:{name}>", text)[1] for name in ("title", "description"))
    return title, re.sub(r"\d[\d,.]*", "", caption)


def test_the_gallery_is_drawn_by_its_command(tmp_path):
    """Each of its figures, with the words that are committed; of a smaller sweep, whose numbers are others."""
    small = {"metric": ["chrf"], "explainer": ["erasure", "lime"], "limit": 6, "tracking": "none", "analysis": False}
    keys = {"grid.p.step": 5, "explainer.lime.num_samples": 50}
    run = bmx_grid.run("quickstart", output_dir=tmp_path / "out", quiet=True, settings=keys, **small)
    gallery = tmp_path / "gallery"
    gallery.mkdir()
    with script(ROOT / "docs" / "site" / "gallery.py") as module:
        module.main([str(run.folder), str(gallery)])
        assert {path.name for path in gallery.iterdir()} == {path.name for path in module.GALLERY.iterdir()}
        for file in gallery.glob("*.svg"):
            words = [of_figure(path) for path in (file, module.GALLERY / file.name)]
            assert words[0] == words[1], "to renew: python docs/site/gallery.py outputs/quickstart"


# Numbers, and the sign of an attribution near 0, may differ between processors.
OF_PROCESSORS = re.compile(r"[+−-]?\d[\d.,e−-]*|(?<=class=\"word )\w+")


def outputs_of(notebook):
    """The source of each cell of a notebook, and its outputs without their numbers, of pictures their kind alone."""
    shown = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        outputs = []
        for output in cell.get("outputs", []):
            held = output.get("data", {"stream": output.get("text")})
            texts = {kind: "".join(text) for kind, text in held.items() if kind != "image/png"}
            outputs.append({kind: OF_PROCESSORS.sub("", text).split() for kind, text in texts.items()})
        shown.append(("".join(cell["source"]), outputs))
    return shown


@pytest.mark.processes
@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "docs").glob("*.ipynb")))
def test_the_outputs_of_a_notebook_are_what_its_code_shows(name, tmp_path):
    committed, again = ROOT / "docs" / name, tmp_path / name
    command = [sys.executable, str(ROOT / "docs" / "site" / "run_notebook.py"), str(committed), str(again)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, f"{process.stderr[-2000:]}\n python docs/site/run_notebook.py docs/{name}"
    assert outputs_of(again) == outputs_of(committed), f"to renew: python docs/site/run_notebook.py docs/{name}"
    text = committed.read_text(encoding="utf-8")
    assert "image/png" in text and str(ROOT) not in text and "/tmp" not in text, "nothing of this machine"


@pytest.fixture(scope="module")
def reference():
    """What makes the pages of the site that are made from code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs" / "site"))
        return importlib.import_module("reference")


@pytest.fixture(scope="module")
def made(reference):
    """Those pages, made once: a page starts a program for each command."""
    return reference.pages()


def test_every_page_made_from_code_has_every_option_and_column(reference, made):
    shown = reference.configuration()
    for group in groups():
        for name in options(group):
            assert f"### {group}: {name}\n" in shown
    written = reference.files()
    assert "## grid.parquet" in written and "| `p_holm` | number |" in written
    assert re.search(r"\| `partial_r` \| number \| \S+", written), "what the docstring of a row says of a column"
    helps = made["reference/commands.md"]
    assert all(f"## bmx-grid {name}".rstrip() in helps for name in reference.COMMANDS)


@pytest.mark.parametrize(("page", "module"), [("python", bmx_grid), ("measures", measures)])
def test_the_reference_has_every_public_name(made, page, module):
    text = made[f"reference/{page}.md"]
    for name in module.__all__:
        if name == "__version__":
            continue
        full_name = f"{module.__name__}.{name}"
        assert f"\n\n::: {full_name}\n" in text
        assert f"| [`{name}`][{full_name}] | {inspect.getdoc(getattr(module, name)).splitlines()[0]} |" in text


def pages_of(nav):
    """Title and page of each entry of a navigation, those of its sections as well; None for a page without a title."""
    found = []
    for entry in nav:
        for title, part in entry.items() if isinstance(entry, dict) else [(None, entry)]:
            if isinstance(part, list):
                found += [(title, None), *pages_of(part)]
            else:
                found.append((title, part))
    return found


def test_the_navigation_has_every_page_under_one_title(reference, made):
    nav = pages_of(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    pages = [page for _, page in nav if page is not None]
    docs = ROOT / "docs"
    written = [path.relative_to(docs).as_posix() for path in docs.rglob("*.md")]
    notebooks = [f"{path.stem}.md" for path in docs.glob("*.ipynb")]
    placed = [page for page in reference.placed().values() if page.endswith(".md")]
    assert sorted(pages) == sorted([*written, *notebooks, *placed, *made])
    titles = [title for title, _ in nav if title is not None]
    assert len(titles) == len(set(titles))


@pytest.mark.parametrize("link", ["other.md", "nowhere.md"])
def test_a_broken_link_fails_the_build_also_where_it_is_quiet(link, tmp_path):
    """On a small site, with the hook of ours."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"[link]({link})\n", encoding="utf-8")
    (tmp_path / "docs" / "other.md").write_text("text\n", encoding="utf-8")
    config = {"site_name": "small", "strict": True, "hooks": [str(ROOT / "docs" / "site" / "strict.py")]}
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    process = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    is_broken = link == "nowhere.md"
    assert (process.returncode != 0) == is_broken, process.stderr[-2000:]
    assert (link in process.stderr) == is_broken


def test_the_hook_that_counts_warnings_is_that_of_the_site():
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert config["strict"] is True and config["hooks"][0] == "docs/site/strict.py"


@pytest.mark.parametrize(("group", "name"), [(group, name) for group in groups() for name in options(group)])
def test_every_key_of_an_option_is_explained(reference, group, name):
    """By a comment beside it, or by name in the docstring of its class."""
    cls = reference.class_of(group, name)
    if cls is None:
        pytest.skip("a combination of options, or of keys that are explained beside it")
    text = (CONFIGS / group / f"{name}.yaml").read_text(encoding="utf-8")
    docstrings = " ".join(inspect.getdoc(base) or "" for base in cls.__mro__ if base.__module__.startswith("bmx_grid"))
    for key in re.findall(r"^  (\w+):", text, flags=re.MULTILINE):
        if key == "_target_":
            continue
        beside = re.search(rf"^  {key}:.*#", text, flags=re.MULTILINE)
        assert beside or re.search(rf"\b{key}\b", docstrings), f"{key}: say what it is for"


@pytest.mark.processes
def test_the_site_builds_without_a_warning(tmp_path):
    build_command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    process = subprocess.run(
        build_command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert process.returncode == 0, process.stderr[-2000:]
    shown = (tmp_path / "reference" / "python" / "index.html").read_text(encoding="utf-8")
    assert 'id="bmx_grid.Run.plot"' in shown, "methods have their place"
    assert "&gt;&gt;&gt;" in shown and "<blockquote>" not in shown, "examples are code"
    assert "fonts.googleapis" not in (tmp_path / "index.html").read_text(encoding="utf-8")
    shown = (tmp_path / "tutorial" / "index.html").read_text(encoding="utf-8")
    assert (tmp_path / "tutorial-1.png").stat().st_size > 10_000
    assert "no gain shown" in shown and "word down" in shown and "sentence_bleu" in shown
    assert "▲" not in shown, "the text says that nothing is established on the sample"
    assert str(tmp_path.parent) not in shown and "/tmp" not in shown, "nothing of this machine"
