"""Small model folders for tests: every number from a formula, so that other programs can make the same ones."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from twins.bert import LAYER, Bert

D, WIDTH, HEADS, LAYERS, WORDS, POSITIONS, PROJECTED = 8, 16, 2, 2, 30, 20, 6
VOCABULARY = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3} | {chr(ord("a") + i): 4 + i for i in range(26)}

#: DistilBERT's own names.
_DISTILBERT = {
    "encoder.layer": "transformer.layer",
    "attention.self.query": "attention.q_lin",
    "attention.self.key": "attention.k_lin",
    "attention.self.value": "attention.v_lin",
    "attention.output.dense": "attention.out_lin",
    "attention.output.LayerNorm": "sa_layer_norm",
    "intermediate.dense": "ffn.lin1",
    "output.dense": "ffn.lin2",
    "output.LayerNorm": "output_layer_norm",
}
AFTER_PADDING = ("roberta", "xlm-roberta", "camembert")


@dataclass(frozen=True)
class Tiny:
    """A model to write: by default a BERT without a head."""

    kind: str = "bert"
    dtype: str = "F32"
    prefix: str = ""
    #: ``classifier`` for a cross-encoder, ``linear`` for late interaction.
    head: str = ""
    classes: int = 1

    def weights(self) -> dict[str, np.ndarray]:
        """Return the weights, named as a BERT's."""
        shapes = {
            "embeddings.word_embeddings.weight": (WORDS, D),
            "embeddings.position_embeddings.weight": (POSITIONS, D),
            "embeddings.LayerNorm.weight": (D,),
            "embeddings.LayerNorm.bias": (D,),
        }
        if self.kind != "distilbert":
            shapes["embeddings.token_type_embeddings.weight"] = (self.types, D)
        for number in range(LAYERS):
            at = LAYER.format(number)
            for name, to, of in (
                *((f"attention.self.{part}", D, D) for part in ("query", "key", "value")),
                ("attention.output.dense", D, D),
                ("intermediate.dense", WIDTH, D),
                ("output.dense", D, WIDTH),
            ):
                shapes |= {f"{at}{name}.weight": (to, of), f"{at}{name}.bias": (to,)}
            for name in ("attention.output.LayerNorm", "output.LayerNorm"):
                shapes |= {f"{at}{name}.weight": (D,), f"{at}{name}.bias": (D,)}
        return {name: self._rounded(_numbers(shape, seed)) for seed, (name, shape) in enumerate(shapes.items())}

    def of_head(self) -> dict[str, np.ndarray]:
        """Return the weights of the head by their names in the file."""
        if self.head == "linear":
            return {"linear.weight": _numbers((PROJECTED, D), 90)}
        if not self.head:
            return {}
        before, last = {
            "bert": (f"{self.prefix}pooler.dense", "classifier"),
            "distilbert": ("pre_classifier", "classifier"),
        }.get(self.kind, ("classifier.dense", "classifier.out_proj"))
        return {
            f"{before}.weight": _numbers((D, D), 91),
            f"{before}.bias": _numbers((D,), 93),
            f"{last}.weight": _numbers((self.classes, D), 95),
            f"{last}.bias": _numbers((self.classes,), 97),
        }

    def twin(self) -> Bert:
        """Return the model that computes what the folder should."""
        epsilon = 1e-5 if self.kind in AFTER_PADDING else 1e-12
        first = 2 if self.kind in AFTER_PADDING else 0
        return Bert(self.weights(), LAYERS, HEADS, epsilon, first).as_type(np.float64)

    def write(self, folder: Path) -> Path:
        """Write the folder of a sentence model."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(self.config()))
        (folder / "model.safetensors").write_bytes(self.file())
        tokenizer = Tokenizer(models.WordLevel(VOCABULARY, unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.post_processor = processors.BertProcessing(("</s>", 2), ("<s>", 0))
        tokenizer.enable_padding(length=16)
        tokenizer.save(str(folder / "tokenizer.json"))
        return folder

    @property
    def types(self) -> int:
        return 1 if self.kind in AFTER_PADDING else 2

    def config(self) -> dict[str, object]:
        """Return what ``config.json`` says."""
        if self.kind == "distilbert":
            sizes = {"dim": D, "n_layers": LAYERS, "n_heads": HEADS, "hidden_dim": WIDTH, "activation": "gelu"}
        else:
            sizes = {"hidden_size": D, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
            sizes |= {"intermediate_size": WIDTH, "hidden_act": "gelu", "type_vocab_size": self.types}
            sizes |= {"layer_norm_eps": 1e-5 if self.kind in AFTER_PADDING else 1e-12}
        shared = {"max_position_embeddings": POSITIONS, "vocab_size": WORDS, "pad_token_id": 1}
        return {"model_type": self.kind, **shared, **sizes}

    def file(self) -> bytes:
        """Return the weights as the bytes of a safetensors file."""
        header, parts, at = {}, [], 0
        named = {self.prefix + self._named(key): value for key, value in self.weights().items()}
        for key, value in (named | self.of_head()).items():
            bits = value.view("<u4") >> 16 if self.dtype == "BF16" else value
            part = bits.astype({"F32": "<f4", "F16": "<f2", "BF16": "<u2"}[self.dtype]).tobytes()
            span = [at, at + len(part)]
            header[key] = {"dtype": self.dtype, "shape": value.shape, "data_offsets": span}
            parts.append(part)
            at = span[1]
        head = json.dumps(header).encode()
        return len(head).to_bytes(8, "little") + head + b"".join(parts)

    def _named(self, key: str) -> str:
        for ours, theirs in _DISTILBERT.items() if self.kind == "distilbert" else ():
            # The attention's output holds the name of the other output.
            if theirs not in key and (ours != "output.dense" or "attention" not in key):
                key = key.replace(ours, theirs)
        return key

    def _rounded(self, values: np.ndarray) -> np.ndarray:
        if self.dtype == "F16":
            return values.astype(np.float16).astype(np.float32)
        if self.dtype == "BF16":
            return (values.view("<u4") & 0xFFFF0000).view(np.float32)
        return values


def _numbers(shape: tuple[int, ...], seed: int) -> np.ndarray:
    at = np.arange(np.prod(shape), dtype=np.float64)
    values = np.sin(1.7 * at + 0.3 * at * at / 7 + seed)
    # A scale of a normalisation is near 1.
    return ((1 + 0.3 * values) if len(shape) == 1 and seed % 2 == 0 else 0.6 * values).reshape(shape).astype(np.float32)
