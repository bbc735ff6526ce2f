"""Equations 1 to 5 of Zhan et al. (2021) as plain loops over tokens, one text at a time, with transformers alone."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence

Vectors = list[tuple[int, list[float]]]
SPECIALS = 2  # the begin and the end of every text


class Plain:
    """Weights and scores of one segment set: reference -> system -> output."""

    def __init__(
        self,
        folder: str,
        layer: int,
        segments: Sequence[tuple[str, Mapping[str, str]]],
        *,
        matchable: bool = True,
        running: bool = True,
        baseline: float = 0.0,
    ) -> None:
        self.folder, self.layer, self.matchable, self.running = folder, layer, matchable, running
        self.baseline = baseline
        self.segments = segments

    def best(self, text: str, other: str) -> list[tuple[int, float]]:
        """Token and best similarity (equation 1) of each token of `text` that is not special."""
        ours = vectors(self.folder, self.layer, text)[1:-1]
        theirs = vectors(self.folder, self.layer, other)
        candidates = theirs if self.matchable else theirs[1:-1]
        if len(theirs) == SPECIALS or not ours:
            return [(token, self.rescaled(0.0)) for token, _ in ours]
        best = []
        for token, vector in ours:
            similarity = max(cosine(vector, candidate) for _, candidate in candidates)
            best.append((token, self.rescaled(similarity)))
        return best

    def rescaled(self, similarity: float) -> float:
        return (similarity - self.baseline) / (1 - self.baseline)

    def difficulties(self, reference: str, outputs: Sequence[str]) -> list[float]:
        """Equation 2 for each token of the reference."""
        of_system = [[similar for _, similar in self.best(reference, output)] for output in outputs]
        return [1 - sum(column) / len(outputs) for column in zip(*of_system, strict=True)]

    def weights(self, tokens: Sequence[int], difficulties: Sequence[float]) -> dict[int, float]:
        """The one weight of a token, for the hypothesis."""
        averaged: dict[int, float] = {}
        seen: dict[int, list[float]] = {}
        for token, weight in zip(tokens, difficulties, strict=True):
            averaged[token] = (averaged[token] + weight) / 2 if token in averaged else weight
            seen.setdefault(token, []).append(weight)
        return averaged if self.running else {token: sum(of_token) / len(of_token) for token, of_token in seen.items()}

    def precision_and_recall(self, reference: str, outputs: Sequence[str], hypothesis: str) -> tuple[float, float]:
        """Equations 4 and 3."""
        recall_of = self.best(reference, hypothesis)
        difficulties = self.difficulties(reference, outputs)
        recall = sum(d * s for d, (_, s) in zip(difficulties, recall_of, strict=True)) / len(recall_of)
        weights = self.weights([token for token, _ in recall_of], difficulties)
        precision_of = self.best(hypothesis, reference)
        if not precision_of:
            return 0.0, recall
        return sum(weights.get(token, 1.0) * s for token, s in precision_of) / len(precision_of), recall

    def of_systems(self, fitted_on: Sequence[str], scored: Sequence[str]) -> dict[str, list[tuple[float, float]]]:
        """Precision and recall of each segment of the scored systems."""
        return {
            system: [
                self.precision_and_recall(reference, [outputs[name] for name in fitted_on], outputs[system])
                for reference, outputs in self.segments
            ]
            for system in scored
        }


def f_score(precision: float, recall: float) -> float:
    """Equation 5."""
    return 2 * precision * recall / (precision + recall) if precision > 0 and recall > 0 else 0.0


def corpus(pairs: Sequence[tuple[float, float]]) -> float:
    """F of mean precision and mean recall."""
    return f_score(*(sum(column) / len(pairs) for column in zip(*pairs, strict=True)))


def cosine(first: Sequence[float], second: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(first, second, strict=True))


@functools.cache
def _model(folder: str):
    from transformers import AutoModel, AutoTokenizer

    return AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()


@functools.cache
def vectors(folder: str, layer: int, text: str) -> Vectors:
    """Token id and unit vector of each token of a text alone, specials included."""
    import torch

    tokenizer, network = _model(folder)
    ids = tokenizer(text.strip(), truncation=True, max_length=tokenizer.model_max_length)["input_ids"]
    with torch.inference_mode():
        states = network(torch.tensor([ids]), output_hidden_states=True).hidden_states[layer][0].double()
    rows = states.tolist()
    return [
        (token, [value / math.sqrt(sum(x * x for x in row)) for value in row])
        for token, row in zip(ids, rows, strict=True)
    ]
