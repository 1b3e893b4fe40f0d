"""ModelWeights: the tensors of a ``model.safetensors``, checked against its configuration."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet._core import Encoder
from septet.embedding.local.folder import WEIGHTS, LocalModel, local_fault
from septet.errors import EmbeddingConfigError
from septet.system.filesystem import is_local

#: Maximum header; a header has about a hundred bytes per tensor.
MAX_HEAD_BYTES = 16 * 2**20
#: The type that weights are multiplied in.
Precision: TypeAlias = Literal["int8", "float32"]
#: Components that share a scale in int8.
BLOCK = 32
_TYPES = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of an architecture's tensors; a layer's names follow its prefix."""

    layer: str
    attention: tuple[str, str, str]
    output: str
    attention_norm: str
    up: str
    down: str
    norm: str
    types: str | None

    words = "embeddings.word_embeddings"
    positions = "embeddings.position_embeddings"
    first_norm = "embeddings.LayerNorm"


_BERT = _Names(
    layer="encoder.layer.",
    attention=("attention.self.query", "attention.self.key", "attention.self.value"),
    output="attention.output.dense",
    attention_norm="attention.output.LayerNorm",
    up="intermediate.dense",
    down="output.dense",
    norm="output.LayerNorm",
    types="embeddings.token_type_embeddings",
)
_DISTILBERT = _Names(
    layer="transformer.layer.",
    attention=("attention.q_lin", "attention.k_lin", "attention.v_lin"),
    output="attention.out_lin",
    attention_norm="sa_layer_norm",
    up="ffn.lin1",
    down="ffn.lin2",
    norm="output_layer_norm",
    types=None,
)


class ModelWeights:
    """The tensors of a model, mapped from its file; unused ones are never read.

    Args:
        model: the configuration; the name, shape and type of every tensor it requires are checked.

    Raises:
        EmbeddingConfigError: the file is truncated or not in the safetensors format, or a tensor is missing or wrong.
    """

    def __init__(self, model: LocalModel) -> None:
        from safetensors import SafetensorError, safe_open

        self._model = model
        self._path = model.folder / WEIGHTS
        self._names = _DISTILBERT if model.architecture == "distilbert" else _BERT
        self._check_head()
        try:
            with safe_open(self._path, framework="np") as file:
                self._prefix = self._prefix_of(list(file.keys()))
                self._check({name: file.get_slice(name) for name in file.keys()})  # noqa: SIM118 - not a mapping
            self._file = _core.FileBytes(self._path, mapped=is_local(self._path))
            self._header, self._data = _parts(self._file)
        except _core.Damaged:
            raise self._change_error() from None
        except SafetensorError as error:
            raise self._fault(f"{error}; the file is damaged, fetch it again") from None
        except OSError as error:
            raise self._fault(f"{error}; check its permissions") from None
        except BaseException as error:
            # A panic of the library is not an Exception, and its class has no public name.
            if isinstance(error, (ValueError, TypeError, RecursionError)) or type(error).__module__ == "pyo3_runtime":
                raise self._fault(f"{error}; the file is damaged, fetch it again") from None
            raise

    def words(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors ``(t, d)`` of words by number ``(t,)``; raise for a word that the weights lack."""
        table, kind = self._view(f"{self._names.words}.weight")
        if ids.size and ids.max() >= len(table):
            raise self._fault(
                f"it has vectors for {len(table)} tokens, but the tokenizer uses token id {ids.max()}: the files "
                "belong to different models; download both again"
            )
        words = _float32(table[ids], kind)
        self._check_file()
        return words

    def encoder(self, precision: Precision) -> Encoder:
        """Return the model's forward pass, with its weights copied; raise if they do not make a model.

        Weights become int8 only where a layer's vectors consist of whole blocks, of 32 components.
        """
        names, model = self._names, self._model
        coded = precision == "int8" and model.dimensions % BLOCK == 0 and model.width % BLOCK == 0
        positions = self._read(f"{names.positions}.weight")[model.first_position :]
        if names.types:
            # Texts have no second part, so every token is of the first type.
            # The encoder refuses NaN and infinity, so numpy need not warn.
            with np.errstate(all="ignore"):
                positions = positions + self._read(f"{names.types}.weight")[0]
        try:
            encoder = Encoder(
                np.ascontiguousarray(positions),
                self._norm(names.first_norm),
                [self._layer(f"{names.layer}{number}.", coded) for number in range(model.layers)],
                heads=model.heads,
                epsilon=model.epsilon,
                activation=model.activation,
                pooling=model.pooling,
            )
        except ValueError as error:
            raise self._fault(f"{error}; fetch it again") from None
        self._check_file()
        return encoder

    def second_type(self) -> NDArray[np.float32] | None:
        """Return the vector ``(d,)`` to add to the words of a pair's second text; None if the model has one type."""
        if self._names.types is None or self._model.types < 2:
            return None
        types = self._read(f"{self._names.types}.weight")
        return np.asarray(types[1] - types[0])

    def of_head(self, name: str, shape: tuple[int | None, ...]) -> NDArray[np.float32] | None:
        """Return a copy of a tensor of a head, with or without the prefix of the others; None if there is none.

        Args:
            shape: the supported shape; None for any length.

        Raises:
            EmbeddingConfigError: it has another shape or type, or a value that is NaN or infinite.
        """
        full = next((full for full in (self._prefix + name, name) if full in self._header), None)
        if full is None:
            return None
        values, kind = self._view_of(full)
        if len(values.shape) != len(shape) or any(want not in (None, have) for want, have in zip(shape, values.shape)):
            raise self._fault(f"{full} has shape {values.shape}, which does not fit the model: fetch it again")
        copied = np.array(_float32(values, kind))
        if not np.isfinite(copied).all():
            raise self._fault(f"{full} has a value that is NaN or infinite; fetch it again")
        self._check_file()
        return copied

    def is_changed(self) -> bool:
        """Return True if the file was truncated or overwritten since it was opened."""
        try:
            self._file.check()
        except _core.Damaged:
            return True
        return False

    def _layer(self, prefix: str, coded: bool) -> tuple[Any, ...]:
        names = self._names

        def linear(*parts: str) -> tuple[NDArray[Any], ...]:
            weights, biases = zip(*(self._linear(prefix + part) for part in parts))
            weight, bias = np.concatenate(weights), np.concatenate(biases)
            return (*_core.code_weights(weight), bias) if coded else (weight, bias)

        return (
            linear(*names.attention),
            linear(names.output),
            self._norm(prefix + names.attention_norm),
            linear(names.up),
            linear(names.down),
            self._norm(prefix + names.norm),
        )

    def _linear(self, name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return self._read(f"{name}.weight"), self._read(f"{name}.bias")

    def _norm(self, name: str) -> NDArray[np.float32]:
        return np.stack(self._linear(name))

    def _read(self, name: str) -> NDArray[np.float32]:
        values, kind = self._view(name)
        return np.require(_float32(values, kind), requirements=("C", "A"))

    def _view(self, name: str) -> tuple[NDArray[Any], str]:
        return self._view_of(self._prefix + name)

    def _view_of(self, full: str) -> tuple[NDArray[Any], str]:
        try:
            entry = self._header[full]
            first, end = entry["data_offsets"]
            return self._data[first:end].view(_TYPES[entry["dtype"]]).reshape(entry["shape"]), entry["dtype"]
        except (KeyError, TypeError, ValueError) as error:
            # The file was replaced after the check.
            raise self._fault(f"{full} cannot be read: {error}; fetch it again") from None

    def _check_head(self) -> None:
        """Check the length of the header before the library allocates it."""
        try:
            with self._path.open("rb") as file:
                size = int.from_bytes(file.read(8), "little")
        except OSError as error:
            raise self._fault(f"{error}; check its permissions") from None
        if size > MAX_HEAD_BYTES:
            reason = f"its header has {size:,} bytes, at most {MAX_HEAD_BYTES:,} are supported"
            raise self._fault(f"{reason}; the file is damaged, fetch it again")

    def _prefix_of(self, names: list[str]) -> str:
        """Return the common prefix of all names, such as ``bert.`` in a model saved with a head."""
        table = f"{self._names.words}.weight"
        match = min((name for name in names if name.endswith(table)), key=len, default=None)
        if match is None:
            raise self._fault(f"it has no tensor {table}, so it is not a {self._model.architecture} model: use another")
        return match.removesuffix(table)

    def _check(self, tensors: dict[str, Any]) -> None:
        for name, shape in self._expected():
            tensor = tensors.get(self._prefix + name)
            if tensor is None:
                raise self._fault(f"it has no tensor {self._prefix + name}, which config.json requires: fetch it again")
            actual, kind = tuple(tensor.get_shape()), tensor.get_dtype()
            if actual != shape:
                reason = f"{name} has shape {actual}, config.json requires {shape}"
                raise self._fault(f"{reason}: they belong to different models, fetch both again")
            if kind not in _TYPES:
                raise self._fault(f"{name} is of type {kind}; supported are {', '.join(_TYPES)}: convert it")

    def _expected(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield the names and shapes of all tensors that the configuration requires."""
        names, model = self._names, self._model
        d, w = model.dimensions, model.width
        yield f"{names.words}.weight", (model.words, d)
        yield f"{names.positions}.weight", (model.positions, d)
        if names.types:
            yield f"{names.types}.weight", (model.types, d)
        norms = [names.first_norm]
        for number in range(model.layers):
            prefix = f"{names.layer}{number}."
            maps = [(part, d, d) for part in (*names.attention, names.output)]
            for part, rows, columns in (*maps, (names.up, w, d), (names.down, d, w)):
                yield f"{prefix}{part}.weight", (rows, columns)
                yield f"{prefix}{part}.bias", (rows,)
            norms += [prefix + names.attention_norm, prefix + names.norm]
        for norm in norms:
            yield f"{norm}.weight", (d,)
            yield f"{norm}.bias", (d,)

    def _check_file(self) -> None:
        """Raise if the mapped file has changed since it was opened."""
        if self.is_changed():
            raise self._change_error()

    def _change_error(self) -> EmbeddingConfigError:
        return self._fault("the file was truncated or overwritten while in use; fetch it again")

    def _fault(self, message: str) -> EmbeddingConfigError:
        return local_fault(f"{self._path}: {message}")


def _parts(file: _core.FileBytes) -> tuple[dict[str, Any], NDArray[np.uint8]]:
    """Return the header and the data of a checked file."""
    content = file.view()
    start = 8 + int.from_bytes(content[:8].tobytes(), "little")
    header: dict[str, Any] = json.loads(content[8:start].tobytes())
    file.check()
    return header, content[start:]


def _float32(values: NDArray[Any], kind: str) -> NDArray[np.float32]:
    if kind == "BF16":
        # The upper half of a float32.
        values = (values.astype(np.uint32) << np.uint32(16)).view(np.float32)
    with np.errstate(all="ignore"):
        converted: NDArray[np.float32] = values.astype(np.float32, copy=False)
    return converted
