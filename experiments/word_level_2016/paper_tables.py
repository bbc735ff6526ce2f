"""The tables of the paper from our rows, in Markdown, and what its text claims held against them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from synthetic import SYNTHETIC
from thresholds_sampled import Sampled, by_difference, order

from bmx_grid.core.wording import number
from bmx_grid.measures.word_measures import THE_SIX

Row = Mapping[str, Any]

NAMES = {
    "f1_bad": "F1-BAD",
    "f1_mult": "F1-mult",
    "phrase_f1_bad": "phr F1-BAD",
    "phrase_f1_mult": "phr F1-mult",
    "mcc": "MCC",
    "seqcor": "SeqCor",
}
LABELLINGS = {
    **{"all_bad": "all-bad", "all_good": "all-good", "optimistic_by_share": "optimistic, 98 % OK"},
    **{"optimistic_by_recall": "optimistic, recall .1", "pessimistic": "pessimistic", "random": "random"},
}
SUMMED = ("all_bad", "all_good", "optimistic_by_recall", "pessimistic", "random")  # one reading of "optimistic"
CAVEAT = (
    "Bonferroni's and Holm's levels depend on how many pairs are compared (6 with four submissions, 10 with five; 136 "
    "with the paper's 17 systems; 1 to 3 within a half), so that d of other numbers of systems, and d, d_top and "
    'd_bottom, are not comparable; "as of 17" has the level of 136 pairs everywhere.'
)
SPLIT = "Of five submissions the upper half has three, the middle one of the ranking among them; of four it has two."


def markdown(header: Sequence[str], body: Iterable[Sequence[object]]) -> list[str]:
    """Lines of a table; the first column is text, the others are set right."""
    lines = [f"| {' | '.join(header)} |", f"|---|{'---:|' * (len(header) - 1)}"]
    return [*lines, *(f"| {' | '.join(str(cell) for cell in row)} |" for row in body)]


def systems_table(ranked: Sequence[Row]) -> Iterator[str]:
    """Value and 95 % interval of every submission by every measure, by F1-mult, the ranks in front."""
    for pair in _pairs(ranked):
        own = {(row["submission"], row["measure"]): row for row in ranked if row["language_pair"] == pair}
        names = sorted({name for name, _ in own}, key=lambda name: own[name, "f1_mult"]["rank"])
        first = own[names[0], "f1_mult"]
        yield f"\n**{pair}**, {first['n_segments']:,} segments, {first['n_words']:,} words\n"
        yield from markdown(
            ["submission", *NAMES.values()],
            ([name, *(_ranked(own[name, measure]) for measure in THE_SIX)] for name in names),
        )


def _ranked(row: Row) -> str:
    return f"{row['rank']}: {row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"


def distinction_table(found: Sequence[Row], systems: int) -> Iterator[str]:
    """How many pairs of submissions each measure tells apart, all language pairs together, then one by one."""
    corrections = list(dict.fromkeys(row["correction"] for row in found))
    header = ["measure", "d", "d_top", "d_bottom", "d (Holm)", "d_top (Holm)", "d_bottom (Holm)", f"d as of {systems}"]
    for pairs in [_pairs(found), *([pair] for pair in _pairs(found))]:
        yield f"\n**{', '.join(pairs)}**\n"
        body = []
        for measure in THE_SIX:
            own = [row for row in found if row["measure"] == measure and row["language_pair"] in pairs]
            cells = [
                _share([row for row in own if row["correction"] == correction], name)
                for correction in corrections
                for name in ("d", "d_top", "d_bottom")
                if correction in ("bonferroni", "holm") or name == "d"
            ]
            body.append([NAMES[measure], *cells])
        yield from markdown(header, body)


def _share(rows: Sequence[Row], name: str) -> str:
    """Different pairs of all pairs; in brackets what the finite number of rounds leaves open."""
    pairs = sum(row[f"{name}_pairs"] for row in rows)
    count, low, high = (sum(row[f"{name}_{what}"] for row in rows) for what in ("different", "low", "high"))
    if not pairs:
        return "–"
    return f"{number(count / pairs, '.2f')} ({count} of {pairs}{f', {low} to {high}' if low != high else ''})"


def synthetic_table(found: Sequence[Row]) -> Iterator[str]:
    """How many submissions each synthetic labelling outranks, all language pairs together, then one by one."""
    for pairs in [_pairs(found), *([pair] for pair in _pairs(found))]:
        numbers = {row["language_pair"]: row["n_submissions"] for row in found if row["language_pair"] in pairs}
        yield f"\n**{', '.join(pairs)}**, of {sum(numbers.values())} submissions\n"
        body = []
        for measure in THE_SIX:
            own = [row for row in found if row["measure"] == measure and row["language_pair"] in pairs]
            cells = [_outranked([row for row in own if row["labelling"] == name]) for name in SYNTHETIC]
            body.append([NAMES[measure], *cells, str(total_outranked(own, measure))])
        yield from markdown(["measure", *LABELLINGS.values(), "sum"], body)


def _outranked(rows: Sequence[Row]) -> str:
    count, low, high = (sum(row[f"outranked{what}"] for row in rows) for what in ("", "_low", "_high"))
    return str(count) if low == high else f"{count} [{low}, {high}]"


def total_outranked(found: Iterable[Row], measure: str) -> int:
    """Submissions outranked by the paper's five labellings, "optimistic" by its recall."""
    return sum(row["outranked"] for row in found if row["measure"] == measure and row["labelling"] in SUMMED)


def shapes_table(found: Sequence[Row]) -> Iterator[str]:
    """What the synthetic labellings came out as, in the first draw, and their F1-BAD and MCC."""
    header = ["labelling", "BAD in truth", "given BAD", "precision", "recall", "recall of OK", "F1-BAD", "MCC"]
    for pair in _pairs(found):
        own = {(row["labelling"], row["measure"]): row for row in found if row["language_pair"] == pair}
        yield f"\n**{pair}**, {own['random', 'mcc']['n_words']:,} words, {own['random', 'mcc']['n_draws']} draws\n"
        body = []
        for name in SYNTHETIC:
            row = own[name, "f1_bad"]
            shares = (row[key] for key in ("bad_share", "given_bad_share", "bad_precision", "bad_recall", "ok_recall"))
            values = (number(own[name, measure]["value"], ".4f") for measure in ("f1_bad", "mcc"))
            body.append([LABELLINGS[name], *(number(share, ".3f") for share in shares), *values])
        yield from markdown(header, body)


def samplings_table(found: Sequence[Sampled], published: Mapping[str, Any]) -> Iterator[str]:
    """The paper's Table 2 beside ours, each measure in the paper's order; ">" is more than the largest number."""
    differences = published["differences"]
    for one in found:
        ours, largest = by_difference(one, differences), one.found.sizes[-1]
        yield (
            f"\n**{one.pair}**, {' – '.join(f'{share:g}' for share in (one.shares[0], one.shares[-1]))} % errors, "
            f"{one.pool.words:,} words, {len(one.pool.text):,} sequences with errors, {one.repeats:,} repetitions; "
            "paper / ours\n"
        )
        yield from markdown(
            ["measure", *(f"{difference:g}" for difference in differences)],
            (
                [
                    NAMES[measure],
                    *(
                        f"{theirs:,} / {f'{own:,}' if own else f'> {largest:,}'}"
                        for theirs, own in zip(values, ours[measure], strict=True)
                    ),
                ]
                for measure, values in published["fewest"].items()
            ),
        )


def order_table(found: Sequence[Sampled]) -> Iterator[str]:
    """Measures by their effect size between the outermost thresholds, and whether the next one is really behind."""
    for one in found:
        yield f"\n**{one.pair}**, {one.shares[0]:g} against {one.shares[-1]:g} % errors\n"
        outermost = one.found.pairs.index((0, len(one.shares) - 1))
        needed = dict(zip(one.found.measures, one.found.needed(one.found.effect)[outermost], strict=True))
        error = dict(zip(one.found.measures, 1.96 * one.found.effect_error[outermost], strict=True))
        yield from markdown(
            ["measure", "effect size", "more than the next one by", "samples for power .8"],
            (
                [
                    NAMES[measure],
                    f"{effect:.4f} [{effect - error[measure]:.4f}, {effect + error[measure]:.4f}]",
                    "–" if low != low else f"[{number(low, '+.4f')}, {number(high, '+.4f')}]",
                    f"{needed[measure]:,.0f}",
                ]
                for measure, effect, low, high in order(one)
            ),
        )


def _pairs(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(row["language_pair"] for row in rows))
