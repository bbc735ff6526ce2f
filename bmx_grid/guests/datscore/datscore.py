"""DATScore: BARTScore in many directions, with translations that a model adds (Kamal Eddine et al., 2023).

Texts are named by role, "source", "reference" and "hypothesis", and their machine translations by role and language,
"source.fr". A direction is "source.fr->hypothesis".
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np

from bmx_grid.core.errors import ConfigError, unknown
from bmx_grid.core.identity import canonical_json, identity
from bmx_grid.core.ragged import Floats
from bmx_grid.guests.datscore.bartscore import Seq2SeqMetric, score_of
from bmx_grid.guests.datscore.combined import Mixed
from bmx_grid.guests.datscore.kept_values import Kept, open_values
from bmx_grid.guests.datscore.language_codes import languages_of
from bmx_grid.guests.datscore.translation import translate
from bmx_grid.words.perturbation import ROLES, Item, Role

if TYPE_CHECKING:
    from bmx_grid.datasets.segments import SegmentSet

LanguageNames = tuple[str | None, str | None]  # of the languages of a source and a target, None where not known


@dataclass(frozen=True, kw_only=True)
class DatScore(Mixed, Seq2SeqMetric):
    """sum over directions of w * Score(X->Y), the entropy-weighted log-probability of Y conditional on X.

    ground_truth: the texts besides the hypothesis: both, source (reference-free), or reference.
    augment: languages that the ground truths are translated into by the model, e.g. [fr]: texts "source.fr" and
        "reference.fr".
    directions: to be summed; None for every pair of the hypothesis and another text, both ways.
        "hypothesis.fr" may be named, too: then each hypothesis, and each perturbation of it, is translated.
    term_weights: of the tokens, entropy (eq. 4) or uniform (BARTScore's). weights: of the directions (eq. 3).

    Translations and scores of the set that it is fitted to are kept in `cache_dir`: other weights need no new scores.
    The slides leave open the authors' directions, the scale of weights, and whether scores are divided by the length:
    see `directions`, `weights`, `length`.
    """

    REMOVED_FIELDS: ClassVar[Mapping[str, Any]] = {"seed": None, "temperature": 1.0}

    ground_truth: Literal["both", "source", "reference"] = identity("both")
    augment: tuple[str, ...] = identity(())
    directions: tuple[str, ...] | None = identity(None)
    term_weights: Literal["entropy", "uniform"] = identity("entropy")

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.augment)) < len(self.augment):
            raise ConfigError(f"datscore.augment={list(self.augment)}: a language is named twice.")
        names = self.part_names
        if len(set(names)) < len(names) or not names:
            raise ConfigError("datscore.directions: name at least one direction, without repeats.")
        known = [*self.reads, *self._translation_names(self.reads)]
        for name in names:
            source, arrow, target = name.partition("->")
            if not arrow or source == target:
                texts = ", ".join(known)
                raise ConfigError(f"datscore.directions: {name!r} is no direction; write X->Y, of {texts}.")
            for text in (source, target):
                if text not in known:
                    raise ConfigError(f"datscore.directions: {name!r}: " + unknown("text", text, known))
        self.check_weights("datscore")

    @property
    def reads(self) -> tuple[Role, ...]:
        if self.ground_truth == "both":
            return ROLES
        return tuple(role for role in ROLES if role in (self.ground_truth, "hypothesis"))

    @property
    def part_names(self) -> tuple[str, ...]:
        """The directions."""
        if self.directions is not None:
            return self.directions
        truths = [role for role in self.reads if role != "hypothesis"]
        names: list[str] = []
        for text in [*truths, *self._translation_names(truths)]:
            names += [f"{text}->hypothesis", f"hypothesis->{text}"]
        return tuple(names)

    def _translation_names(self, roles: Sequence[Role]) -> list[str]:
        """The names of the translations of texts, "source.fr"."""
        return [f"{role}.{language}" for role, language in product(roles, self.augment)]

    def fit(self, segments: SegmentSet) -> Self:
        """Fit to a set: its languages, and the items whose translations, scores and weights are cached."""
        fitted = super().fit(segments)
        for text in fitted._texts():
            role, is_translated, _ = text.partition(".")
            language = fitted.language_of(role)
            if is_translated and language in self.augment:
                raise ConfigError(
                    f"datscore.augment={list(self.augment)}: the {role} of {segments.language_pair} is in "
                    f"{language} already; name other languages."
                )
        return fitted

    def count_texts(self, item: Item, copies: int = 1) -> int:
        """Passes of the model: one per direction, and a translation of each text that is augmented."""
        n_translated = sum("." in text for text in self._texts())
        return copies * (len(self.part_names) + n_translated)

    def part_scores(self, items: Sequence[Item]) -> Floats:
        """float64[n, k] scores of the directions."""
        sums = self.direction_sums(items)
        return score_of(sums, entropy=self.term_weights == "entropy", length=self.length)

    def direction_sums(self, items: Sequence[Item]) -> Floats:
        """float64[n, k, 4] sums of each direction (`token_sums`), from which all kinds of scores follow."""
        names = self._texts()
        texts = {name: self._versions(name, items) for name in names}
        texts_of_set = {name: self._versions(name, self.fitted_on) for name in names}
        sums = []
        for direction in self.part_names:
            source, _, target = direction.partition("->")
            pairs = list(zip(texts[source], texts[target], strict=True))
            pairs_of_set = set(zip(texts_of_set[source], texts_of_set[target], strict=True))
            languages = self.language_of(source), self.language_of(target)
            score = functools.partial(self._score, languages)
            store = self._store("directions", languages)
            sums.append(store.values(pairs, pairs_of_set, score))
        by_direction = np.array(sums, dtype=np.float64)
        # The explicit shape also fits an empty list of items.
        return by_direction.reshape(len(sums), len(items), 4).swapaxes(0, 1)

    def _texts(self) -> list[str]:
        """The names of the texts that directions use."""
        names = chain.from_iterable(direction.split("->") for direction in self.part_names)
        return list(dict.fromkeys(names))

    def _versions(self, name: str, items: Sequence[Item]) -> list[str]:
        """The text of this name of each item, translated if the name has a language."""
        role = cast(Role, name.partition(".")[0])
        texts = [item.text(role) for item in items]
        if "." not in name:
            return texts
        languages = self.language_of(role), self.language_of(name)
        texts_of_set = {item.text(role) for item in self.fitted_on}
        store = self._store("translations", languages)
        return store.values(texts, texts_of_set, functools.partial(self._translate, languages))

    def _translate(self, languages: LanguageNames, texts: Sequence[str]) -> list[str]:
        loaded = self.load_model()
        codes = languages_of(loaded, *languages)
        return translate(loaded, texts, codes, self.max_length, self.batch_tokens)

    def _score(self, languages: LanguageNames, pairs: Sequence[tuple[str, str]]) -> Any:
        sources, targets = zip(*pairs, strict=True)
        return self.sums(sources, targets, *languages).tolist()

    def _store(self, kind: str, languages: LanguageNames) -> Kept:
        """The store of a model's results in these languages, by every setting that changes them."""
        settings = ["model", "revision", "content", "dtype", "max_length"]
        if kind == "directions":
            settings.append("language_code")
        fingerprint = self.fingerprint()
        made_with = {key: value for key, value in fingerprint.items() if key in settings}
        made_with["source_language"], made_with["target_language"] = languages
        return open_values(self.cache_dir, kind, canonical_json(made_with))
