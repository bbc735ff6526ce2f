"""Finished settings made up for tests of evaluations."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
from fakes import HashMetric

from bmx_grid.attribution.explain import explain_items
from bmx_grid.core.ragged import Labels, Ragged
from bmx_grid.datasets.segments import Judgements, Segment, SegmentSet, clusters
from bmx_grid.evaluations.base import ScoredSetting
from bmx_grid.explainers.erasure import Erasure
from bmx_grid.words.attributions import AttributionSet
from bmx_grid.words.tags import WordScores, WordTags

ERASURE = Erasure()


def table_rows(evaluation, result, table):
    """The rows of a table as it is written: a field per column."""
    columns = evaluation.columns(result)[table]
    rows = zip(*columns.values(), strict=True)
    return [SimpleNamespace(**dict(zip(columns, row, strict=True))) for row in rows]


def changed(setting, human=None, sources=None, **fields):
    """The setting with other judgements, or other sources and so other clusters, or other fields."""
    segments = setting.segments
    if human is not None:
        segments = dataclasses.replace(segments, judgements=Judgements({"da": np.asarray(human, dtype=float)}))
    if sources is not None:
        with_sources = [
            dataclasses.replace(segment, source=text) for segment, text in zip(segments.segments, sources, strict=True)
        ]
        segments = dataclasses.replace(segments, segments=tuple(with_sources))
        fields["clusters"] = sources
    return dataclasses.replace(setting, segments=segments, **fields)


WORDS = ["the", "cat", "sat", "on", "a", "mat", "and", "then", "it", "slept"]


def finished(n=30, human=None, explainer=ERASURE, rng=None):
    """A setting of a hash metric on n made-up segments of two systems."""
    rng = np.random.default_rng(3) if rng is None else rng
    texts = [" ".join(rng.choice(WORDS, size=1 + row % 9)) for row in range(n)]
    segments = tuple(
        Segment(str(row // 2), text, source=f"quelle {row // 2}", system="ab"[row % 2])
        for row, text in enumerate(texts)
    )
    human = rng.normal(size=n) if human is None else human
    segment_set = SegmentSet("toy", "de-en", segments, Judgements({"da": np.asarray(human, dtype=float)}))
    items = segment_set.items(("source", "hypothesis"))
    explained = explain_items(HashMetric(), explainer, items, seed=0)
    roles = () if explainer is None else ("source", "hypothesis")
    rows = {role: Ragged.from_rows(explanation.attributions[role] for explanation in explained) for role in roles}
    scores = AttributionSet(np.array([explanation.base_score for explanation in explained]), rows)
    name = "none" if explainer is None else "erasure"
    boosted = {} if explainer is None else {"published": scores.base_scores + rng.normal(size=n)}
    labels = clusters([segment_set])[0].tolist()
    return ScoredSetting(segment_set, "hash", name, HashMetric(), explainer, items, scores, labels, boosted)


def translated(metric, *, n_items=20, systems="abcdef", human=None, judged=None):
    """Systems that keep ever fewer words of the reference; people like them the better the more they keep."""
    rng = np.random.default_rng(1)
    references = [" ".join(rng.choice(WORDS, size=12)) for _ in range(n_items)]
    segments, liked = [], []
    for number, system in enumerate(systems):
        for item, reference in enumerate(references):
            words = [word if rng.random() > 0.1 * (number + 1) else "x" for word in reference.split()]
            segments.append(Segment(str(item), " ".join(words), f"quelle {item}", reference, system or None))
            liked.append(-float(words.count("x")) + 0.3 * rng.normal())
    human = np.array(liked) if human is None else human
    segment_set = SegmentSet("toy", "de-en", tuple(segments), judged or Judgements({"mqm": human}))
    items = segment_set.items(metric.reads)
    scores = AttributionSet(metric.score(items), {}, metric.statistics(items))
    return ScoredSetting(segment_set, "m", "none", metric, None, items, scores, clusters([segment_set])[0].tolist())


def simulated(truth, pair="de-en", n=400, seed=0, dataset="toy", systems=1, metric="hash"):
    """A setting of n segments: `truth` says what the human scores hold beside the metric's.

    Two segments share a source; with several systems, all translations of one source do. Attributions are uniform draws
    times a level per segment: in "signal" what people see and the metric does not, in "curve" the square of the
    metric's score, which people see too, else nothing that people see. The smallest of many words is smaller than that
    of few, so that means with p < 0 see the length, which people see in "length".
    """
    draw, share = np.random.default_rng([seed, *pair.encode()]), max(2, systems)
    source_of = np.arange(n) // share
    n_words = np.stack([draw.integers(2, 60, size=n)[source_of], draw.integers(2, 60, size=n)])
    base = draw.normal(size=n) / 4
    level = 16 * base**2 - 1 if truth == "curve" else draw.normal(size=n)
    seen = {"length": -0.2 * np.log(n_words).sum(axis=0), "signal": level / 4, "curve": level / 4, "noise": 0.0}
    human = base + seen[truth] + draw.normal(size=n) / 4
    attributions = {
        side: Ragged.from_rows([np.exp(0.2 * level[row]) * draw.random(count) for row, count in enumerate(counts)])
        for side, counts in zip(("source", "hypothesis"), n_words, strict=True)
    }
    sources = [f"{pair} {number}" for number in source_of]
    segments = []
    for row, (source, source_words, words) in enumerate(zip(sources, *n_words, strict=True)):
        hypothesis = f"{row}{' y' * (words - 1)}"
        source_text = f"{source}{' x' * (source_words - 2)}"
        segments.append(Segment(str(row // systems), hypothesis, source=source_text, system=f"system {row % systems}"))
    segment_set = SegmentSet(dataset, pair, tuple(segments), Judgements({"da": human}))
    scores = AttributionSet(base, attributions)
    items = segment_set.items(("source", "hypothesis"))
    return ScoredSetting(segment_set, metric, "erasure", HashMetric(), Erasure(), items, scores, sources)


def tagged(n=30, *, seed=0, human=None, pair="de-en", name="erasure", lower_is_better=False):
    """A setting of n segments with tags on both sides: a word is BAD with probability .3, and then its attribution is
    lower by 1, at a standard deviation of 1; the tags are on the words that were scored."""
    draw = np.random.default_rng([seed, *pair.encode()])
    words = {}
    for role, shift in (("source", 0), ("hypothesis", 3)):
        counts = [2 + (row + shift) % 8 for row in range(n)]
        words[role] = tuple(
            tuple(f"{role[0]}{pair[0]}{row}x{place}" for place in range(count)) for row, count in enumerate(counts)
        )
    tags = {
        role: WordTags(texts, Labels.from_rows(draw.random(len(text)) < 0.3 for text in texts))
        for role, texts in words.items()
    }
    sign = -1.0 if lower_is_better else 1.0
    rows = {
        role: Ragged.from_rows(sign * (draw.normal(size=len(bad)) - bad) for bad in marked.labels.rows())
        for role, marked in tags.items()
    }
    human = draw.normal(size=n) if human is None else human
    segments = tuple(
        Segment(str(row), " ".join(words["hypothesis"][row]), source=" ".join(words["source"][row])) for row in range(n)
    )
    segment_set = SegmentSet("toy", pair, segments, Judgements({"da": np.asarray(human, dtype=float)}, tags=tags))
    metric = HashMetric()
    if lower_is_better:
        metric = LowerIsBetter()
    base = draw.normal(size=n)
    boosted = {"published": base + draw.normal(size=n)}
    items = segment_set.items(("source", "hypothesis"))
    labels = clusters([segment_set])[0].tolist()
    return ScoredSetting(segment_set, "hash", name, metric, ERASURE, items, AttributionSet(base, rows), labels, boosted)


@dataclasses.dataclass(frozen=True)
class LowerIsBetter(HashMetric):
    """The same scores, of which low ones are better."""

    @property
    def higher_is_better(self):
        return False


def made_elsewhere(setting, words=None, values=None, *, labels=False):
    """The setting with word scores for its target: by default those of its attributions, on the tags' own words."""
    tags = setting.segments.judgements.tags["hypothesis"]
    words = tags.words if words is None else tuple(map(tuple, words))
    values = setting.scores.hypothesis if values is None else Ragged.from_rows(map(np.asarray, values))
    scores = dataclasses.replace(setting.scores, words={"hypothesis": WordScores(words, values, labels)})
    return dataclasses.replace(setting, scores=scores)
