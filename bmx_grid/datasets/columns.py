"""Which column of a user's table plays which role, and what to write where that is not clear."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Mapping, Sequence

from bmx_grid.errors import ConfigError, DataError, close_match, unknown
from bmx_grid.wording import visible
from bmx_grid.words.text import INVISIBLE

# Role -> other names that such columns often have, in small letters, with _ in place of blanks, dots and dashes.
# Sweeps take none of them by itself: they are proposed, so that a configuration says what was read.
USUAL = {
    "source": (
        *("src", "source_text", "source_segment", "source_sentence", "src_text", "sourcetext", "original"),
        *("orig", "input", "quelle", "quelltext", "quellsatz", "ausgangstext"),
    ),
    "reference": (
        *("ref", "reference_text", "human_reference", "reference_translation", "ref_text", "ref_a", "refa"),
        *("gold", "post_edit", "postedit", "pe", "referenz", "referenztext", "referenzübersetzung"),
    ),
    "hypothesis": (
        *("hyp", "mt", "mt_output", "mt_text", "mt_segment", "translation", "candidate", "system_output", "output"),
        *("target", "target_text", "tgt", "prediction", "pred", "hypothesis_text", "übersetzung", "uebersetzung"),
        *("hypothese", "zieltext", "zielsatz", "ausgabe"),
    ),
    "score": (
        *("da", "mqm", "esa", "da_score", "mqm_score", "esa_score", "direct_assessment", "human", "human_score"),
        *("z_mean", "zmean", "z_score", "zscore", "z", "mean", "mean_score", "avg_score", "average", "raw_score"),
        *("raw", "rating", "human_rating", "adequacy", "quality", "label", "bewertung", "wertung", "note", "punkte"),
        *("qualität", "urteil"),
    ),
    "language_pair": ("lp", "langpair", "lang_pair", "langs", "languages", "pair", "direction", "sprachpaar"),
    "id": (
        *("seg_id", "segid", "segment_id", "segmentid", "sid", "sent_id", "sentence_id", "item_id", "item", "index"),
        *("segment", "nummer", "satz"),
    ),
    "system": ("sys", "system_name", "system_id", "sys_name", "mt_system", "model", "team", "engine"),
    "document": ("doc", "doc_id", "docid", "document_id", "doc_name", "dokument"),
}
ROLES = tuple(USUAL)
REQUIRED = ("hypothesis", "score")
SEVERAL = ("score", "reference")  # roles that may have several columns: the first is what metrics use
SHOWN = 30  # columns listed in a message
PLAIN = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)
PLAIN_PATH = re.compile(
    r"(?:[A-Za-z_.]|/(?=\w))[\w./-]*[A-Za-z]", re.ASCII
)  # no number, and nothing that a shell reads


def assign(
    names: Sequence[str],
    given: Mapping[str, str | Sequence[str] | None],
    where: str,
    reader: str,
) -> dict[str, tuple[str, ...]]:
    """role -> its columns, of the roles that have one: the given ones, or else the column of the role's own name.

    names: the file's columns; given: role -> column, several for the roles of SEVERAL, None where the configuration
    leaves it open; where: the file; reader: the key of the data set (`dataset.tabular`). Raises one DataError for
    everything that is missing, with the columns there are and the settings to add.
    """
    found: dict[str, tuple[str, ...]] = {}
    problems = []
    for role in ROLES:
        wanted = given.get(role)
        if wanted is None:
            if role in names:
                found[role] = (role,)
            continue
        wanted = tuple(name.strip(INVISIBLE) for name in ((wanted,) if isinstance(wanted, str) else wanted))
        for name in wanted:
            if name not in names:
                problems.append(f"no column '{name}' for the {role}{close_match(name, names)}")
        if set(wanted) <= set(names):
            found[role] = wanted
    missing = [role for role in REQUIRED if role not in found and given.get(role) is None]
    if not {"source", "reference"} & found.keys() and not (given.get("source") or given.get("reference")):
        missing.append("source")
    if missing:
        problems.append("no column for the " + ", the ".join(missing).replace("source", "source (or reference)"))
    if problems:
        left = [*missing, *(role for role in ROLES if role not in found and given.get(role) is not None)]
        raise DataError(
            f"{where}: {', '.join(problems)}. The file has the columns {listed(names)}. "
            + _advice(names, found, reader, left)
            + f"; what is recognised, and the command to run: bmx-grid data show {shlex.quote(where)}"
        )
    return found


def proposal(
    names: Sequence[str], found: Mapping[str, Sequence[str]], reader: str, roles: Sequence[str] = ROLES
) -> str:
    """The settings to add for the roles without a column, as far as the file has one of a usual name; "" for none."""
    printable = [name for name in names if name.isprintable()]
    usual = usual_columns(printable, found)
    settings = [setting(reader, role, usual[role]) for role in roles if role in usual]
    return f"Perhaps: {' '.join(settings)}" if settings else ""


def recognised(
    names: Sequence[str], given: Mapping[str, Sequence[str]], needed: Sequence[str], where: str, way_out: str
) -> dict[str, tuple[str, ...]]:
    """role -> its columns, of the roles that have one: the given ones, else the one of the role's own or a usual name.

    names: the columns that are free; needed: roles without which nothing can be done; with a hypothesis that is also a
    source or a reference. way_out: what to write, for one `{}`. Raises ConfigError for an unknown role or column,
    DataError for needed roles without a column, all in one sentence.
    """
    for role, columns in given.items():
        if role not in ROLES:
            raise ConfigError(f"{where}: columns: {unknown('role', role, ROLES)}")
        if len(columns) != 1 and role not in SEVERAL:
            raise ConfigError(f"{where}: columns: only {' and '.join(SEVERAL)} may have several columns, not {role}.")
        for name in columns:
            if name not in names:
                raise ConfigError(f"{where}: columns: {role}: {unknown('column', name, names)}")
    roles = {role: tuple(columns) for role, columns in given.items()}
    roles |= {role: (name,) for role, name in usual_columns(names, roles).items()}
    missing = [role for role in needed if role not in roles]
    if "hypothesis" in needed and not {"source", "reference"} & roles.keys():
        missing.append("source or reference")
    if missing:
        raise DataError(
            f"{where} has no column for {', '.join(missing)} among {listed(names) or 'none'}. Name them: "
            f"{way_out.format(missing[0].split()[0])}"
        )
    return {role: roles[role] for role in ROLES if role in roles}


def named_roles(arguments: Sequence[str]) -> dict[str, str]:
    """role -> column, from arguments ROLE=COLUMN. Raises ConfigError."""
    columns: dict[str, str] = {}
    for argument in arguments:
        role, _, column = argument.partition("=")
        if not column:
            raise ConfigError(f"--columns {argument}: write ROLE=COLUMN, with one of {', '.join(ROLES)}.")
        if role in columns:
            raise ConfigError(f"--columns: the {role} is given twice; name one column.")
        columns[role] = column
    return columns


def usual_columns(names: Sequence[str], found: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """role -> its column, of the roles not in `found` that a column's own or usual name (in any case) stands for.

    A column plays one role. Of several usual names of a role, the one that stands first in USUAL is taken.
    """
    taken = {name for own in found.values() for name in own}
    chosen: dict[str, str] = {}
    for exact in (True, False):  # a column that is named as a role is of that role
        for role in ROLES:
            wanted = (role,) if exact else USUAL[role]
            usual = [name for name in names if name not in taken and _plainly(name) in wanted]
            if role not in found and role not in chosen and usual:
                chosen[role] = min(usual, key=lambda name: wanted.index(_plainly(name)))
                taken.add(chosen[role])
    return chosen


def _plainly(name: str) -> str:
    """A column's name as USUAL writes it."""
    return re.sub(r"[\s.-]+", "_", unicodedata.normalize("NFKC", name.strip(INVISIBLE)).lower())


def setting(reader: str, role: str, column: str) -> str:
    """The override that gives a column a role, as it is typed into a shell."""
    return override(f"{reader}.columns.{role}", column)


def override(key: str, value: str) -> str:
    """An override with a text as its value, as it is typed into a shell: whatever the text, and in any shell."""
    if PLAIN.fullmatch(value) or PLAIN_PATH.fullmatch(value):
        return f"{key}={value}"
    text = f"{key}={quoted(value)}"
    if text.isprintable():
        return shlex.quote(text)
    signs = {"\\": "\\\\", "'": "\\'"}
    return "$'" + "".join(signs.get(sign, visible(sign)) for sign in text) + "'"


def quoted(text: str, mark: str = '"') -> str:
    """A text between quotation marks, as an override has it: Hydra removes backslashes only before such a mark."""
    inner = re.sub(rf"(\\*)({mark}|\Z)", lambda at: at[1] * 2 + ("\\" + mark if at[2] else ""), text)
    return f"{mark}{inner}{mark}"


def _advice(names: Sequence[str], found: Mapping[str, Sequence[str]], reader: str, wanted: Sequence[str]) -> str:
    """What to write for the wanted roles, and for others that the file seems to have a column for."""
    usual = proposal(names, found, reader)
    left = [role for role in wanted if f".columns.{role}=" not in usual]
    if "source" in left and ".columns.reference=" in usual:
        left.remove("source")
    rest = " ".join(f"{reader}.columns.{role}=NAME" for role in left)
    return " ".join(part for part in (usual, f"Name with: {rest}" if rest else "") if part)


def listed(names: Sequence[str]) -> str:
    """Column names as a message lists them: the first ones, and how many more there are."""
    shown = ", ".join(name[:60] if name.strip() and name.isprintable() else repr(name[:60]) for name in names[:SHOWN])
    return shown + (f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else "")
