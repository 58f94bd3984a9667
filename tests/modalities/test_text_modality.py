"""The text modality with a tiny Transformer that is made here: tokens, windows, batches, strict weights, learning, saving."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
import torch

from matchfit.competition.problem import Feature, Items, MetricChoice, Problem, Targets
from matchfit.core.errors import ConfigError, DataError
from matchfit.learners.config import TrainConfig
from matchfit.modalities.text import TextModality
from matchfit.modalities.text.batching import batches_of
from matchfit.modalities.text.tokens import MAX_WINDOWS, texts_of

WORDS = [f"w{k}" for k in range(40)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A BERT of two small layers with a vocabulary of 40 words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    path = tmp_path_factory.mktemp("tiny")
    vocabulary = {name: k for k, name in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    ).save_pretrained(path)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(path)
    return path


def problem_of(*columns, task="binary", classes=("no", "yes")):
    return Problem(
        name="toy",
        modality="text",
        task=task,
        id_columns=("id",),
        targets=("y",),
        classes=classes,
        submission_columns=("id", "y"),
        prediction_columns=("y",),
        submission_form="label",
        metric=MetricChoice(name="accuracy", direction="maximize", guessed=False),
        features=tuple(Feature(name=name, kind="text") for name in columns),
    )


def items_of(**columns):
    table = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    return Items(ids=pl.Series([str(k) for k in range(table.height)]), table=table)


def planned(folder, items, tmp_path, **config):
    modality = TextModality(problem_of(*items.table.columns), TrainConfig(model=str(folder), **config))
    said: list[str] = []
    modality.plan(items, np.arange(len(items)), said.append)
    return modality, modality.source(items, tmp_path, said.append), said


def sentence(size: int, seed: int = 0) -> str:
    return " ".join(np.random.default_rng(seed).choice(WORDS, size))


def test_lengths_windows_and_what_is_cut_are_told(folder, tmp_path):
    items = items_of(t=[sentence(5), None, sentence(60), sentence(500)])
    modality, source, said = planned(folder, items, tmp_path, max_length=16)
    assert "longest 502" in said[0]
    assert "50.0% are longer" in said[0]
    windows = np.diff(source.first_N1)
    assert windows.tolist() == [1, 1, 6, MAX_WINDOWS]
    assert (source.windowed, source.cut) == (2, 1)
    assert source.lengths[1] == 2  # an empty text has its special tokens
    ids, mask, _ = source.padded(np.array([2]), pad_id=0, left=False)
    inner = [
        [int(one) for one, there in zip(row, seen, strict=True) if there][1:-1] for row, seen in zip(ids[0], mask[0], strict=True)
    ]
    whole = modality._tokenizer(items.table["t"][2])["input_ids"][1:-1]
    rebuilt = inner[0]
    for window in inner[1:]:
        rebuilt = rebuilt + window[4:]  # a quarter of the window overlaps
    assert rebuilt == whole


def test_the_cache_is_read_and_a_damaged_one_made_anew(folder, tmp_path):
    items = items_of(t=[sentence(k + 1, k) for k in range(20)])
    modality, source, _ = planned(folder, items, tmp_path)
    path = next((tmp_path / "tokens").iterdir())
    written = path.stat().st_mtime_ns
    again = modality.source(items, tmp_path, print)
    assert path.stat().st_mtime_ns == written
    np.testing.assert_array_equal(again.ids_T, source.ids_T)
    path.write_bytes(b"torn")
    np.testing.assert_array_equal(modality.source(items, tmp_path, print).ids_T, source.ids_T)


def test_pairs_have_types_and_three_columns_a_separator(folder, tmp_path):
    pair = items_of(a=["w1 w2"], b=["w3"])
    _, source, _ = planned(folder, pair, tmp_path)
    assert source.types_T.tolist() == [0, 0, 0, 0, 1, 1]
    three = items_of(a=["w1"], b=["w2"], c=[None])
    modality, source, _ = planned(folder, three, tmp_path)
    assert modality._tokenizer.convert_ids_to_tokens(source.ids_T.tolist()) == ["[CLS]", "w1", "[SEP]", "w2", "[SEP]", "[SEP]"]


def test_long_pairs_are_cut_the_longer_first(folder, tmp_path):
    items = items_of(a=[sentence(50), "w1"], b=["w3 w4", "w2"])
    _, source, said = planned(folder, items, tmp_path, max_length=16)
    assert source.lengths.tolist() == [16, 5]
    assert source.cut == 1
    assert any("50.0%" in line and "cut" in line for line in said)


def test_batches_hold_every_row_once_and_follow_the_seed():
    rows = np.arange(1000, 1230)
    lengths = np.random.default_rng(0).integers(3, 200, len(rows))
    first, same, other = (batches_of(rows, lengths, 16, seed) for seed in (1, 1, 2))
    assert sorted(np.concatenate(first)) == rows.tolist()
    assert [len(batch) for batch in first].count(16) == 14
    assert len(first) == 15
    assert all(np.array_equal(a, b) for a, b in zip(first, same, strict=True))
    assert not all(len(a) == len(b) and np.array_equal(a, b) for a, b in zip(first, other, strict=True))
    spread = np.mean([np.ptp(lengths[batch - 1000]) for batch in first])
    assert spread < 0.4 * np.ptp(lengths)
    ordered = np.concatenate(batches_of(rows, lengths, 16, None))
    assert (np.diff(lengths[ordered - 1000]) <= 0).all()


def test_skip_leaves_out_the_first_batches(folder, tmp_path):
    items = items_of(t=[sentence(k % 7 + 1, k) for k in range(30)])
    modality, source, _ = planned(folder, items, tmp_path)
    targets = torch.arange(30)
    whole = list(modality.batches(source, np.arange(30), targets, batch_size=4, epoch_seed=5))
    rest = list(modality.batches(source, np.arange(30), targets, batch_size=4, epoch_seed=5, skip=3))
    assert len(whole) == modality.num_batches(30, 4)
    for ours, theirs in zip(whole[3:], rest, strict=True):
        assert torch.equal(ours.inputs["input_ids"], theirs.inputs["input_ids"])
        assert torch.equal(ours.targets, torch.from_numpy(ours.rows))


@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_workers_change_nothing(folder, tmp_path):
    items = items_of(t=[sentence(k % 7 + 1, k) for k in range(30)])
    modality, source, _ = planned(folder, items, tmp_path)
    helped, _, _ = planned(folder, items, tmp_path, workers=2)
    plain = list(modality.batches(source, np.arange(30), None, batch_size=4, epoch_seed=5, skip=1))
    served = list(helped.batches(source, np.arange(30), None, batch_size=4, epoch_seed=5, skip=1))
    assert len(plain) == len(served) == 7
    for ours, theirs in zip(plain, served, strict=True):
        assert np.array_equal(ours.rows, theirs.rows)
        assert all(torch.equal(ours.inputs[name], theirs.inputs[name]) for name in ours.inputs)


def test_neighbours_and_padding_change_nothing(folder, tmp_path):
    items = items_of(t=[sentence(size, size) for size in (3, 9, 40, 12, 1)])
    modality, source, _ = planned(folder, items, tmp_path, max_length=16)
    modality.loss(Targets(task="binary", classes=("no", "yes"), values=np.array([0, 1, 0, 1, 0])))
    network = modality.model(pretrained=True).eval()
    outputs = {}
    for size in (1, 5):
        for batch in modality.batches(source, np.arange(5), None, batch_size=size, epoch_seed=None):
            for row, values in zip(batch.rows, network(**batch.inputs), strict=True):
                outputs[size, int(row)] = values.detach()
    for row in range(5):
        torch.testing.assert_close(outputs[1, row], outputs[5, row], rtol=1e-4, atol=1e-5)


def test_settings_rebuild_the_network_and_the_tokenizer_without_the_folder(folder, tmp_path):
    items = items_of(t=[sentence(k % 9 + 1, k) for k in range(12)])
    modality, source, _ = planned(folder, items, tmp_path)
    modality.loss(Targets(task="binary", classes=("no", "yes"), values=np.arange(12) % 2))
    settings = json.loads(json.dumps(modality.settings()))
    other = TextModality(problem_of("t"), TrainConfig(model="/nowhere/model"))
    other.restore(settings)
    assert other.settings() == modality.settings()
    np.testing.assert_array_equal(other.source(items, tmp_path / "other", print).ids_T, source.ids_T)
    network, copy = modality.model(pretrained=True).eval(), other.model(pretrained=False).eval()
    copy.load_state_dict(network.state_dict(), strict=True)
    batch = next(modality.batches(source, np.arange(12), None, batch_size=12, epoch_seed=None))
    assert torch.equal(network(**batch.inputs), copy(**batch.inputs))
    assert not any("pooler" in name for name in network.state_dict())


def test_it_learns_through_the_loop(folder, tmp_path):
    from matchfit.learners.base import Context, Fold
    from matchfit.learners.torch.learner import TextLearner

    truth = np.random.default_rng(0).integers(0, 2, 120)
    items = items_of(t=[f"{sentence(k % 5 + 1, k)} {'w0' if label else 'w1'}" for k, label in enumerate(truth)])
    targets = Targets(task="binary", classes=("no", "yes"), values=truth)
    config = TrainConfig(model=str(folder), epochs=8, batch_size=8, lr=3e-3, precision="fp32", tensorboard=False)
    learner = TextLearner(problem_of("t"), config)
    context = Context(directory=tmp_path / "fold", cache=tmp_path, seed=0, score=lambda *_: 0.0, say=lambda _: None)
    state = learner.fit(items, targets, Fold(index=0, train=np.arange(80), valid=np.arange(80, 120)), context)
    predicted = learner.predict(state, items, context, np.arange(80, 120))
    assert (predicted.scores_NK.argmax(1) == truth[80:]).mean() > 0.9
    learner.save(state, tmp_path / "saved")
    fresh = TextLearner(problem_of("t"), config)
    again = fresh.predict(fresh.load(tmp_path / "saved"), items, context, np.arange(80, 120))
    np.testing.assert_allclose(again.scores_NK, predicted.scores_NK, atol=1e-6)


def test_wrong_names_and_options_say_what_to_do(folder, tmp_path):
    items = items_of(t=["w1"])

    def plan(columns=("t",), **config):
        TextModality(problem_of(*columns), TrainConfig(**config)).plan(items, np.arange(1), print)

    with pytest.raises(ConfigError, match="local-dir"):
        plan(model="nobody/no-such-model")
    with pytest.raises(ConfigError, match="windows"):
        plan(model=str(folder), max_length=512)
    with pytest.raises(ConfigError, match="minilm"):
        plan(model=str(folder), pretrained="packaged")
    with pytest.raises(ConfigError, match="hub"):
        plan(model=str(folder), pretrained="hub")
    with pytest.raises(ConfigError, match="--model FOLDER"):
        plan(model=str(folder), pretrained="weights.bin")
    with pytest.raises(DataError, match="text_columns"):
        plan(columns=(), model=str(folder))


def test_weights_must_fit_the_configuration(folder, tmp_path):
    from safetensors.torch import load_file, save_file

    broken = tmp_path / "broken"
    broken.mkdir()
    for path in folder.iterdir():
        (broken / path.name).write_bytes(path.read_bytes())
    tensors = load_file(broken / "model.safetensors")
    del tensors["encoder.layer.1.output.dense.weight"]
    save_file(tensors, broken / "model.safetensors", metadata={"format": "pt"})
    modality, _, _ = planned(broken, items_of(t=["w1 w2"]), tmp_path)
    with pytest.raises(ConfigError, match=r"layer\.1\.output"):
        modality.model(pretrained=True)


def test_the_common_rule_is_applied_to_texts():
    table = pl.DataFrame({"a": ["\ufeffa  b\n", None]})
    assert texts_of(table, ("a",)) == [("a b",), ("",)]
