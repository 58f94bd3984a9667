"""The torch learner's contract: honest, exact, and the same after a save."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_toys import ToyModality, accuracy, toy_context, toy_data, toy_fold, toy_learner

from matchfit.core.durations import Deadline
from matchfit.core.errors import BudgetError, ConfigError, DataError, MetricError, RunError
from matchfit.learners.base import Fold


def fit(directory, *, items_targets=None, fold=None, context=None, **settings):
    items, targets = items_targets or toy_data()
    learner = toy_learner(**settings)
    context = context or toy_context(directory)
    state = learner.fit(items, targets, fold or toy_fold(), context)
    return learner, state, context, items


def weights(state):
    return {key: value.clone() for key, value in state.model.state_dict().items()}


def equal(first, second):
    return first.keys() == second.keys() and all(torch.equal(first[key], second[key]) for key in first)


def test_it_learns_and_says_what_it_did(tmp_path):
    lines = []
    learner, state, context, items = fit(tmp_path, context=toy_context(tmp_path, lines=lines), epochs=6.0)
    predictions = learner.predict(state, items, context)
    targets = toy_data()[1]
    assert accuracy(targets, predictions) > 0.7
    assert predictions.scores_NK.sum(axis=1) == pytest.approx(1)
    epochs = [line for line in lines if "epoch" in line and "gradient" in line]
    assert len(epochs) == 6
    for word in ("loss", "valid accuracy", "lr", "clipped", "items/s", "left"):
        assert word in epochs[0]
    assert any(" *" in line for line in epochs)
    facts = learner.describe(state)
    assert facts["steps"] == 6 * 8
    assert facts["epochs"] == 6
    assert facts["score_ema"] is not None
    assert facts["score_final"] is not None
    assert facts["parameters"] == sum(p.numel() for p in state.model.parameters())


def test_rows_are_scored_in_the_order_asked_for(tmp_path):
    learner, state, context, items = fit(tmp_path)
    everything = learner.predict(state, items, context).scores_NK
    rows = np.array([7, 3, 149, 0])
    np.testing.assert_allclose(learner.predict(state, items, context, rows).scores_NK, everything[rows], atol=1e-6)


def test_saved_and_loaded_predicts_the_same_bits(tmp_path):
    learner, state, context, items = fit(tmp_path)
    before = learner.predict(state, items, context).scores_NK
    learner.save(state, tmp_path / "learner")
    other = toy_learner()
    loaded = other.load(tmp_path / "learner")
    assert np.array_equal(other.predict(loaded, items, context).scores_NK, before)
    assert other.describe(loaded)["steps"] == learner.describe(state)["steps"]


def test_a_model_file_of_another_shape_is_refused(tmp_path):
    learner, state, _, _ = fit(tmp_path)
    learner.save(state, tmp_path / "learner")
    record = json.loads((tmp_path / "learner" / "learner.json").read_text())
    record["settings"]["width"] = 5
    (tmp_path / "learner" / "learner.json").write_text(json.dumps(record))
    with pytest.raises(RunError, match="exactly the model's tensors"):
        toy_learner().load(tmp_path / "learner")


def test_held_out_targets_decide_nothing(tmp_path):
    items, targets = toy_data()
    values = targets.values.copy()
    values[:30] = (values[:30] + 1) % 3
    lied = type(targets)(task=targets.task, classes=targets.classes, values=values)
    one = fit(tmp_path / "a", items_targets=(items, targets))[1]
    other = fit(tmp_path / "b", items_targets=(items, lied))[1]
    assert equal(weights(one), weights(other))


def test_unreadable_items_get_the_prior_and_are_not_learnt_from(tmp_path):
    items, targets = toy_data(unreadable=(0, 40))
    lines = []
    learner, state, context, _ = fit(tmp_path, items_targets=(items, targets), context=toy_context(tmp_path, lines=lines))
    scores = learner.predict(state, items, context).scores_NK
    kept = np.setdiff1d(np.arange(30, 150), [40])
    frequencies = np.bincount(targets.values[kept], minlength=3) / len(kept)
    np.testing.assert_allclose(scores[[0, 40]], np.tile(frequencies, (2, 1)))
    assert learner.describe(state)["train_rows"] == len(kept)
    assert "2 of 150 items cannot be read: they get the prior" in lines


def test_nothing_readable_is_an_error(tmp_path):
    items = toy_data(unreadable=range(150))
    with pytest.raises(DataError, match="can be read"):
        fit(tmp_path, items_targets=items)


def test_regression_prior_is_the_mean(tmp_path):
    items, targets = toy_data(unreadable=(1,), task="regression")
    learner, state, context, _ = fit(tmp_path, items_targets=(items, targets), task="regression")
    scores = learner.predict(state, items, context).scores_NK
    assert scores[1, 0] == pytest.approx(targets.values[30:].mean())


def test_an_empty_hold_out_and_no_average_are_fine(tmp_path):
    fold = Fold(index=5, train=np.arange(150), valid=np.arange(0))
    lines = []
    learner, state, _, _ = fit(tmp_path, fold=fold, context=toy_context(tmp_path, lines=lines), model_ema=False)
    assert learner.describe(state)["score_ema"] is None
    assert any(line.startswith("all items: epoch 1/3") for line in lines)


def test_the_seed_decides_and_the_outside_generator_is_left_alone(tmp_path):
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    one = fit(tmp_path / "a")[1]
    assert torch.equal(torch.rand(1), expected)
    torch.manual_seed(99)
    assert equal(weights(one), weights(fit(tmp_path / "b")[1]))
    other = fit(tmp_path / "c", context=toy_context(tmp_path / "c", seed=1))[1]
    assert not equal(weights(one), weights(other))


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_short_precisions_learn_as_well(tmp_path, precision):
    learner, state, context, items = fit(tmp_path, precision=precision, epochs=6.0)
    assert accuracy(toy_data()[1], learner.predict(state, items, context)) > 0.7
    assert all(parameter.dtype == torch.float32 for parameter in state.model.parameters())


def test_patience_stops_on_a_part_of_training_and_takes_its_best_epoch(tmp_path):
    items, targets = toy_data()
    seen = []

    def score(truth, predictions):
        seen.append(len(truth))
        return [0.1, 0.9, 0.2, 0.3, 0.4][min(sum(n < 30 for n in seen) - 1, 4)] if len(truth) < 30 else 0.5

    lines = []
    context = toy_context(tmp_path, score=score, lines=lines)
    learner, state, _, _ = fit(tmp_path, items_targets=(items, targets), context=context, patience=2, epochs=9.0)
    facts = learner.describe(state)
    assert facts["epochs"] == 4
    assert facts["chosen_epoch"] == 2
    assert facts["train_rows"] == 108
    assert any("hold-out accuracy 0.9000 *" in line for line in lines)


@pytest.mark.parametrize("metric", ["nan", "error"])
def test_an_undefined_metric_is_an_event_with_a_name(tmp_path, metric):
    def score(truth, predictions):
        if metric == "error":
            raise MetricError("roc_auc", rule="needs two classes", found="one", todo="Take more folds.")
        return float("nan")

    learner, state, _, _ = fit(tmp_path, context=toy_context(tmp_path, score=score))
    facts = learner.describe(state)
    assert {event["event"] for event in facts["events"]} == {"metric_undefined"}
    assert facts["score_ema"] is None
    assert not (tmp_path / "best.safetensors").exists()


def test_fast_dev_run_trains_two_batches_and_predicts_all(tmp_path):
    context = toy_context(tmp_path, fast_dev_run=True)
    learner, state, _, items = fit(tmp_path, context=context, precision="auto")
    assert learner.describe(state)["steps"] == 2
    assert len(learner.predict(state, items, context)) == 150


def test_a_deadline_that_has_passed_is_a_budget_error(tmp_path):
    with pytest.raises(BudgetError, match="one training step"):
        fit(tmp_path, context=toy_context(tmp_path, seconds=0.0))


def test_a_deadline_shortens_the_run_before_it_starts_and_the_schedule_with_it(tmp_path):
    lines = []
    learner, state, _, _ = fit(tmp_path, context=toy_context(tmp_path, seconds=0.5, lines=lines), epochs=100000.0)
    facts = learner.describe(state)
    assert 0 < facts["steps"] < 100000 * 8
    planned = next(number for number, line in enumerate(lines) if "epochs; the schedule ends there" in line)
    assert planned < next(number for number, line in enumerate(lines) if "gradient" in line)
    assert facts["events"][0]["event"] == "planned_by_time"


class Running(Deadline):
    """Plenty of time for `calls` questions, then none."""

    calls = 12

    def left(self):
        object.__setattr__(self, "calls", self.calls - 1)
        return 1e6 if self.calls > 0 else -1.0


def test_time_that_runs_out_stops_at_once_and_a_resumed_run_goes_on(tmp_path):
    lines = []
    context = replace(toy_context(tmp_path, lines=lines), deadline=Running(1.0))
    learner, state, _, items = fit(tmp_path, context=context)
    facts = learner.describe(state)
    assert 0 < facts["steps"] < 24
    assert facts["events"][-1]["event"] == "stopped_by_time"
    assert np.isfinite(learner.predict(state, items, context).scores_NK).all()
    resumed = fit(tmp_path, context=toy_context(tmp_path, resume=True))[1]
    assert resumed.facts["steps"] == 24


def test_a_device_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match="device=cuda:9"):
        fit(tmp_path, device="cuda:9")


def test_metrics_and_tensorboard_hold_every_epoch_once(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the tensorboard package
        fit(tmp_path, tensorboard=True)
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        events = EventAccumulator(str(tmp_path / "tensorboard")).Reload().Scalars("epoch/valid_loss")
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    epochs = [row for row in rows if row["kind"] == "epoch"]
    assert [row["step"] for row in epochs] == [8, 16, 24] == [event.step for event in events]
    assert all(row["grad_norm"] > 0 and 0 <= row["clipped_share"] <= 1 for row in epochs)


def test_a_modality_that_loses_rows_is_refused(tmp_path):
    class Losing(ToyModality):
        def batches(self, source, rows, targets, *, batch_size, epoch_seed, skip=0):
            kept = rows if epoch_seed is not None else rows[1:]
            yield from super().batches(source, kept, targets, batch_size=batch_size, epoch_seed=epoch_seed, skip=skip)

    with pytest.raises(RunError, match="every row exactly once"):
        fit(tmp_path, modality=Losing)


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-5), ("bf16", 1e-2)])
def test_predictions_do_not_depend_on_the_batch_size(tmp_path, precision, tolerance):
    learner, state, context, items = fit(tmp_path, precision=precision)
    before = learner.predict(state, items, context).scores_NK
    state.batch_size = 7
    np.testing.assert_allclose(learner.predict(state, items, context).scores_NK, before, atol=tolerance)


def test_outputs_that_overflow_are_computed_again_in_fp32(tmp_path):
    learner, state, _, items = fit(tmp_path, precision="fp16")
    lines = []
    with torch.no_grad():
        state.model[6].weight *= 1e5
        state.model[6].bias += 1e5
    scores = learner.predict(state, items, toy_context(tmp_path, lines=lines)).scores_NK
    assert np.isfinite(scores).all()
    assert "outputs overflow in fp16: predicted again in fp32" in lines


def test_a_model_that_diverged_is_not_passed_off_as_predictions(tmp_path):
    learner, state, context, items = fit(tmp_path)
    with torch.no_grad():
        state.model[6].bias[0] = float("nan")
    with pytest.raises(RunError, match="must be finite"):
        learner.predict(state, items, context)


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["auto", "fp32", "bf16", "fp16"])
def test_on_cuda(tmp_path, precision):
    learner, state, context, items = fit(tmp_path, precision=precision, device="cuda", epochs=6.0)
    assert accuracy(toy_data()[1], learner.predict(state, items, context)) > 0.7
    again = fit(tmp_path / "again", precision=state.precision, device="cuda", epochs=6.0)[1]
    assert equal(weights(state), weights(again))


@pytest.mark.slow
def test_weights_and_biases_log_offline(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    monkeypatch.setenv("WANDB_SILENT", "true")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the wandb package
        fit(tmp_path, wandb=True)
    assert list((tmp_path / "wandb").glob("offline-run-*/*.wandb"))
