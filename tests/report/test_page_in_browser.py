"""The page in a real browser: nothing fails, nothing is cut off, and what the script adds works; without it, too."""

import html
import importlib.util
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from some_frames import verdicts
from some_tables import random_surfaces, table

from bmx_grid.analysis.examples import Example, ExampleSide, RankedScore
from bmx_grid.analysis.questions import analyse_table
from bmx_grid.report.html import write_report

# The script that takes the pictures of the documentation is no module of a package.
SCRIPT = Path(__file__).parents[2] / "docs" / "site" / "page_picture.py"
SPEC = importlib.util.spec_from_file_location("page_picture", SCRIPT)
page_picture = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(page_picture)
BROWSER = page_picture.browser()
pytestmark = pytest.mark.skipif(BROWSER is None, reason=f"none of {', '.join(page_picture.BROWSERS)} is installed")
# The page in a frame of a given width, which is its screen; then SCRIPT, whose answer is the text of the outer page.
HARNESS = """<!DOCTYPE html><title>test</title>
<script>var errors = [];</script>
<iframe width="WIDTH" height="800" style="border:0" srcdoc="PAGE"></iframe>
<script>
addEventListener("load", async () => {
  const frame = document.querySelector("iframe");
  const page = frame.contentDocument;
  const find = (query) => page.querySelector(query);
  const all = (query) => [...page.querySelectorAll(query)];
  let answer;
  try { answer = await (async () => { SCRIPT })(); } catch (error) { errors.push(String(error)); }
  document.body.textContent = JSON.stringify({ answer, errors });
});
</script>"""
# Errors of the page itself: caught before any of its own scripts runs.
WATCH = "<script>onerror = (message) => parent.errors.push(message); console.error = onerror;</script>"


def in_browser(folder, *options):
    """What a command of the browser prints."""
    flags = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}")
    process = subprocess.run([BROWSER, *flags, *options], capture_output=True, text=True, timeout=120, check=True)
    return process.stdout


def asked(folder, page, script, width=1280):
    """The answer of a script on a page of that width."""
    watched = page.replace("<head>", f"<head>{WATCH}")
    harness = HARNESS.replace("WIDTH", str(width)).replace("PAGE", html.escape(watched)).replace("SCRIPT", script)
    # Written out: what is typed for a shell has limits.
    file = folder / "harness.html"
    file.write_text(harness, encoding="utf-8")
    document = in_browser(folder, "--virtual-time-budget=5000", "--dump-dom", file.as_uri())
    body = re.search("<body>(.*?)</body>", document, flags=re.DOTALL)[1]
    result = json.loads(html.unescape(body))
    assert result["errors"] == []
    return result["answer"]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A page with verdicts, maps, segments and folded tables."""
    rows = [
        {"metric": "m1", "verdict": "helps", "gain": 0.05, "length_gain": 0.01, "reassigned_gain": 0.002},
        {"metric": "m2", "verdict": "hurts", "gain": -0.02},
        {"metric": "m1", "boost": "share_negative", "gain": 0.001},
        {"metric": "m2", "boost": "share_negative", "gain": (0.03, -0.2, 0.3), "verdict": "too little data"},
        {"metric": "m1", "point": "published", "gain": 0.0},
    ]
    words = tuple(f"word{'x' * number}" for number in range(30))
    side = ExampleSide("hypothesis", words, np.linspace(-1, 1, len(words)), (False,) * len(words))
    score = RankedScore(0.5, 3.0)
    example = Example("typical", "7", None, ("d1", "a", "m1", "lime"), 0.4, -1.4, 9, (side,), score, score, score)
    analysis = analyse_table(table(random_surfaces(0)), frames={"verdicts": verdicts(*rows)})
    file = tmp_path_factory.mktemp("page") / "report.html"
    write_report(analysis, file, figures=[], tables=analysis.tables(), examples=[example])
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_is_wider_than_its_screen(page, tmp_path, width):
    opened = "all('details').forEach((part) => { part.open = true; });"
    measured = "const box = page.documentElement; return [box.scrollWidth, box.clientWidth];"
    widths = asked(tmp_path, page, opened + measured, width)
    assert widths[0] <= widths[1] <= width


def test_an_error_of_the_page_is_seen(page, tmp_path):
    """So that the other tests can fail."""
    with pytest.raises(AssertionError, match="nothing_here"):
        asked(tmp_path, page.replace('"use strict";', "nothing_here();"), "return 0;")


def test_the_answer_is_on_the_first_screen_of_a_desktop(page, tmp_path):
    script = "return ['.lead', '.badge', '#verdicts'].map((name) => find(name).getBoundingClientRect().bottom);"
    assert max(asked(tmp_path, page, script)) <= 800


def test_rows_are_sorted_and_filtered(page, tmp_path):
    script = """
      const rows = () => all("#verdicts tbody tr").filter((row) => !row.hidden);
      const names = () => rows().map((row) => row.cells[3].textContent.slice(0, 6));
      const before = names();
      const head = all("#verdicts thead th")[3];
      head.click();
      const falling = [names(), head.ariaSort];
      head.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
      const filter = find("input");
      const rising = names();
      filter.value = "M1 share";
      filter.dispatchEvent(new Event("input"));
      return [before, falling, rising, names(), find("[role=status]").textContent];
    """
    before, falling, rising, filtered, told = asked(tmp_path, page, script)
    assert before == ["+0.050", "−0.020", "+0.001", "+0.030"], "by verdict, then gain"
    assert falling == [["+0.050", "+0.030", "+0.001", "−0.020"], "descending"]
    assert rising == falling[0][::-1]
    assert (filtered, told) == (["+0.001"], "1 of 4 rows")


def test_a_heat_map_tells_the_gain_at_the_cursor(page, tmp_path):
    script = """
      const [plane, told] = [find(".map svg"), find(".map .told")];
      const before = told.textContent;
      const keys = ["Home", "ArrowDown", "ArrowUp", "ArrowRight"];
      keys.forEach((key) => plane.dispatchEvent(new KeyboardEvent("keydown", { key })));
      await new Promise((done) => setTimeout(done, 500));
      const at = told.textContent;
      plane.dispatchEvent(new Event("blur"));
      return [before, at, told.textContent];
    """
    analysis = analyse_table(table(random_surfaces(0)))
    before, at, after = asked(tmp_path, page, script)
    assert before == after and before.startswith("baseline ")
    # Home: p = -2; the second of three weights; one column of pixels further is the same or the next p.
    correlation = analysis.table.correlation[0][:, 1]
    shown = [f"w 0.5, p −{-p:g}: {r:.4f}" for p, r in zip(analysis.table.p[:2], correlation[:2], strict=True)]
    assert any(at.startswith(text) for text in shown), (at, shown)


def test_a_link_opens_the_part_that_it_leads_to(page, tmp_path):
    script = """
      frame.contentWindow.location.hash = "#of-table-settings";
      await new Promise((done) => setTimeout(done, 300));
      return all("details[open]").map((part) => part.id);
    """
    assert asked(tmp_path, page, script) == ["of-table-settings"]


def test_what_is_folded_is_printed(page, tmp_path):
    """As many pages as with every part opened, and more than without what is folded."""
    opened = page.replace("<details ", "<details open ")
    without = re.sub(r'<section id="details">.*</section>', "", page, flags=re.DOTALL)
    counts = []
    for name, text in (("folded", page), ("opened", opened), ("without", without)):
        file, paper = tmp_path / f"{name}.html", tmp_path / f"{name}.pdf"
        file.write_text(text, encoding="utf-8")
        in_browser(tmp_path, f"--print-to-pdf={paper}", "--no-pdf-header-footer", file.as_uri())
        counts.append(len(re.findall(rb"/Type\s*/Page\b", paper.read_bytes())))
    assert counts[0] == counts[1] > counts[2] > 0


def test_the_picture_of_the_documentation_is_made_by_a_command(page, tmp_path):
    file, picture = tmp_path / "report.html", tmp_path / "page.png"
    file.write_text(page, encoding="utf-8")
    page_picture.main([str(file), str(picture)])
    with Image.open(picture) as image:
        assert image.size == page_picture.SIZE == Image.open(SCRIPT.parents[1] / "page.png").size
        # Blue and orange of the heat maps survive the palette.
        colours = {colour for _, colour in image.convert("RGB").getcolors(2**24)}
    assert min(sum(abs(a - b) for a, b in zip(colour, (0, 96, 168), strict=True)) for colour in colours) < 40
    assert picture.stat().st_size <= 150_000
