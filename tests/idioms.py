"""Idioms that no other project of the field writes: sentences with them are hard to read for others."""

from __future__ import annotations

IDIOMS = {
    "what is": r"\bwhat (?:is|are|was|were|the|a|an|it|they|each|else)\b",
    "of these": r"\bof (?:these|those|others|them|which)\b",
    "say": r"\b(?:say|says|said|saying)\b",
    "ask": r"\b(?:ask|asks|asked|asking)\b",
    "tell": r"\b(?:tell|tells|told)\b",
    "stand": r"\b(?:stand|stands|stood)\b",
    "no ... is there": r"\bno [\w-]+(?: [\w-]+)? (?:is|are) there\b|\bthere (?:is|are) (?:no|none|nothing)\b",
    "each once": r"\beach (?:once|with|of)\b|\bonce each\b",
    "here, there": r"(?<!\bthat )(?<!\bif )\b(?:here|there)\b(?! (?:is|are|was|were|must|may|can|should|will)\b)",
    "anyway, as well, alone, beside": r"\b(?:anyway|as well|alone|beside)\b",
    "goes, comes": r"\b(?:goes|comes|takes part)\b",
    "where for if": r"\bwhere (?:a|an|the|there|it|they|no|nothing|none|one|some|several|that|all|both)\b",
    "given": r"\bgiven\b",
}
