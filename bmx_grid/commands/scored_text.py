"""What `score` prints: segments as text, JSON or TSV, and systems."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bmx_grid.attribution.explain import Explanation
from bmx_grid.attribution.scorer import Scored, Scorer
from bmx_grid.commands.scored_systems import Systems
from bmx_grid.wording import visible
from bmx_grid.words.perturbation import Role
from bmx_grid.words.text import split_words


def _text(scorer: Scorer, scored: Scored, words: bool) -> str:
    def line(head: str, score: float, base: float) -> str:
        return f"{head:>6}  {score:.6f}" + (f"  {base:.6f}" if scorer.boosts else "")

    lines = [f"signature: {scorer.signature}"]
    lines += [f"explainer: {scorer.explanation_signature}"] if words and scorer.explanation_signature else []
    lines += ["", "     #     score" + ("      base" if scorer.boosts else "")]
    for row, (score, base) in enumerate(zip(scored.scores, scored.base, strict=True)):
        lines.append(line(str(row + 1), score, base))
        if words:
            for role, found in _words(scored.explanations[row]).items():
                lines.append(f"        {role}: " + "  ".join(f"{word} {value:+.4f}" for word, value in found))
    return "\n".join([*lines, line("mean", scored.scores.mean(), scored.base.mean())])


def _json(scorer: Scorer, scored: Scored, words: bool) -> str:
    rows: list[dict[str, Any]] = [
        {"score": score, "base": base} for score, base in zip(scored.scores.tolist(), scored.base.tolist(), strict=True)
    ]
    if words:
        for row, explanation in zip(rows, scored.explanations, strict=True):
            row["words"] = {
                role: [{"word": word, "attribution": value} for word, value in found]
                for role, found in _words(explanation).items()
            }
    found: dict[str, Any] = {"signature": scorer.signature, "mean": float(scored.scores.mean())}
    found |= {"explainer": scorer.explanation_signature} if words and scorer.explanation_signature else {}
    found |= {"unboosted": [row + 1 for row in scored.unboosted]} if scorer.recipe is not None else {}
    found["scores"] = rows
    return json.dumps(found, ensure_ascii=False, indent=1)


def _tsv(scorer: Scorer, scored: Scored, words: bool) -> str:
    lines = [f"# signature: {scorer.signature}", f"# mean: {float(scored.scores.mean())!r}"]
    lines += [f"# explainer: {scorer.explanation_signature}"] if words and scorer.explanation_signature else []
    lines += [f"# unboosted: {' '.join(str(row + 1) for row in scored.unboosted)}"] if scored.unboosted else []
    lines.append("segment\tscore\tbase")
    lines[-1] += "".join(f"\t{role}_words" for role in scorer.reads) if words else ""
    for row, (score, base) in enumerate(zip(scored.scores.tolist(), scored.base.tolist(), strict=True)):
        fields = [str(row + 1), repr(score), repr(base)]
        if words:  # as JSON, in which a tab inside a word is no tab
            fields += [json.dumps(found, ensure_ascii=False) for found in _words(scored.explanations[row]).values()]
        lines.append("\t".join(fields))
    return "\n".join(lines)


def _words(explanation: Explanation) -> dict[Role, list[tuple[str, float]]]:
    """role -> (word, attribution), in order."""
    return {
        role: list(zip(split_words(text), explanation.attributions[role].tolist(), strict=True))
        for role, text in explanation.item.texts().items()
    }


def _systems_text(scorer: Scorer, parts: Mapping[str, Scored], systems: Systems) -> str:
    lines = [f"signature: {scorer.signature}", ""]
    if parts:
        lines += ["     #  " + "  ".join(map(visible, parts))]
        for row, scores in enumerate(zip(*(one.scores for one in parts.values()), strict=True), start=1):
            lines.append(f"{row:>6}  " + "  ".join(f"{score:.6f}" for score in scores))
        lines.append("")
    return "\n".join([*lines, *systems.lines()])


def _systems_json(scorer: Scorer, parts: Mapping[str, Scored], systems: Systems) -> str:
    found = {"signature": scorer.signature, **systems.as_json()}
    if parts:
        found["scores"] = {name: one.scores.tolist() for name, one in parts.items()}
    return json.dumps(found, ensure_ascii=False, indent=1)


def _systems_tsv(scorer: Scorer, parts: Mapping[str, Scored], systems: Systems) -> str:
    lines = [f"# signature: {scorer.signature}", "system\tsegment\tscore\tlow\thigh"]
    for name, one in systems.scores.items():
        lines.append(f"{visible(name)}\tall\t{one.score!r}\t{one.low!r}\t{one.high!r}")
    for name, scored in parts.items():
        lines += [f"{visible(name)}\t{row}\t{score!r}\t\t" for row, score in enumerate(scored.scores.tolist(), start=1)]
    return "\n".join(lines)


FORMATS = {"text": _text, "json": _json, "tsv": _tsv}
SYSTEMS = {"text": _systems_text, "json": _systems_json, "tsv": _systems_tsv}  # of several, and of systems only
