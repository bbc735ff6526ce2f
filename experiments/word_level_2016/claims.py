"""What the text of the paper says, and whether it is so on WMT22. Prints nothing: `make.py` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from paper_tables import LABELLINGS, NAMES, total_outranked
from thresholds_sampled import Sampled, order

from bmx_grid.measures.word_measures import THE_SIX

Row = Mapping[str, Any]
SYNTHETIC_FINDERS = {"seqcor", "f1_mult", "phrase_f1_mult"}
FIRST, LAST = {"f1_mult", "mcc"}, "phrase_f1_bad"


class Claim(NamedTuple):
    """What the paper says, what is found here, and whether the two agree."""

    paper: str
    ours: str
    agrees: bool


def of_distinction(found: Sequence[Row]) -> Iterator[Claim]:
    """Section 3.1, of d, d_top and d_bottom corrected by Bonferroni, all language pairs together."""

    def shares(name: str) -> dict[str, float]:
        """Different pairs among all pairs of submissions, by measure."""
        return {measure: _ratio(found, measure, name) for measure in THE_SIX}

    d, top, bottom = shares("d"), shares("d_top"), shares("d_bottom")
    yield Claim("MCC has the lowest d", _listed(d, ".2f"), d["mcc"] == min(d.values()))
    above = [NAMES[measure] for measure in THE_SIX if bottom[measure] > top[measure]]
    yield Claim("d_bottom is greater than d_top for every measure", f"for {_names(above)}", len(above) == len(THE_SIX))
    yield Claim(
        "SeqCor fails to discriminate in the upper half", f"d_top: {_listed(top, '.2f')}", _lowest("seqcor", top)
    )
    yield Claim(
        "phr F1-mult is bad at discriminating in the lower half",
        f"d_bottom: {_listed(bottom, '.2f')}",
        _lowest("phrase_f1_mult", bottom),
    )


def of_synthetic(found: Sequence[Row]) -> Iterator[Claim]:
    """Section 3.1, of synthetic labellings, all language pairs together."""
    totals = {measure: float(total_outranked(found, measure)) for measure in THE_SIX}
    ordered = sorted(totals.values())
    best = {measure for measure in THE_SIX if totals[measure] <= ordered[len(SYNTHETIC_FINDERS) - 1]}
    yield Claim(
        "SeqCor, F1-mult and phr F1-mult tell synthetic labellings from real ones better than the others",
        f"submissions outranked: {_listed(totals, '.0f')}",
        best == SYNTHETIC_FINDERS,
    )
    yield Claim(
        "phr F1-BAD ranks synthetic labellings highest",
        f"submissions outranked: {_listed(totals, '.0f')}",
        totals["phrase_f1_bad"] == ordered[-1] and ordered.count(ordered[-1]) == 1,
    )
    for labellings, measure, told in (
        (("all_bad", "pessimistic"), "phrase_f1_bad", "all-bad and pessimistic outrank 16 of 17 by phr F1-BAD"),
        (("optimistic_by_recall",), "mcc", "optimistic outranks most by MCC (reading: recall .1)"),
        (("optimistic_by_share",), "mcc", "optimistic outranks most by MCC (reading: 98 % OK)"),
    ):
        own = [row for row in found if row["measure"] == measure and row["labelling"] in labellings]
        counts = {name: sum(row["outranked"] for row in own if row["labelling"] == name) for name in labellings}
        of = sum(row["n_submissions"] for row in own) / len(labellings)
        ours = "; ".join(f"{LABELLINGS[name]}: {count} of {of:.0f}" for name, count in counts.items())
        yield Claim(told, ours, min(counts.values()) > of / 2)


def of_sampling(found: Sequence[Sampled]) -> Iterator[Claim]:
    """Section 3.2: the order of the measures by discriminative power, on each language pair."""
    for one in found:
        names = [measure for measure, *_ in order(one)]
        ours = f"{one.pair} from {one.shares[0]:g} %: {' > '.join(NAMES[name] for name in names)}"
        yield Claim("F1-mult and MCC discriminate best", ours, set(names[:2]) == FIRST)
        yield Claim("phr F1-BAD discriminates worst", ours, names[-1] == LAST)
        yield Claim("F1-BAD is behind F1-mult", ours, names.index("f1_bad") > names.index("f1_mult"))
        words = {"f1_mult", "mcc", "f1_bad"}
        yield Claim("all measures of phrases are behind those of words", ours, set(names[:3]) == words)


def _ratio(found: Sequence[Row], measure: str, name: str) -> float:
    own = [row for row in found if row["measure"] == measure and row["correction"] == "bonferroni"]
    count: Callable[[str], int] = lambda what: sum(row[f"{name}_{what}"] for row in own)  # noqa: E731
    return count("different") / count("pairs") if count("pairs") else float("nan")


def _lowest(measure: str, values: Mapping[str, float]) -> bool:
    return values[measure] == min(values.values()) and list(values.values()).count(values[measure]) == 1


def _listed(values: Mapping[str, float], form: str) -> str:
    return ", ".join(f"{NAMES[measure]} {value:{form}}" for measure, value in values.items())


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"
