"""The step's arithmetic, its order, and what it does when gradients or memory run out of bounds; schedules, averages, precisions."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

from matchfit.core.errors import BudgetError, RunError
from matchfit.learners.torch import precision, schedules
from matchfit.learners.torch.ema import ModelEma, decay_at
from matchfit.learners.torch.optimizers import adamw
from matchfit.learners.torch.precision import Precision
from matchfit.learners.torch.step import MAX_STREAK, Stepper
from matchfit.modalities.base import Batch


@pytest.fixture(autouse=True)
def _seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def squared(outputs, targets):
    return ((outputs - targets) ** 2).mean(dim=1)


def make(model=None, *, name="fp32", clip_grad=0.0, say=print, optimizer=None):
    model = (model or nn.Linear(3, 2)).train()
    optimizer = optimizer or adamw(model, lr=0.1, weight_decay=0.1)
    return Stepper(model, squared, optimizer, Precision(name, "cpu"), clip_grad=clip_grad, channels_last=False, say=say)


def batch(num_rows=6, seed=0, scale=1.0):
    made = torch.Generator().manual_seed(seed)
    inputs, targets = torch.randn(num_rows, 3, generator=made) * scale, torch.randn(num_rows, 2, generator=made)
    return Batch(inputs=inputs, rows=np.arange(num_rows), targets=targets)


def gradients(stepper):
    return torch.cat([parameter.grad.flatten() for parameter in stepper.model.parameters()])


def whole_gradient(model, batches):
    inputs, targets = torch.cat([b.inputs for b in batches]), torch.cat([b.targets for b in batches])
    model = copy.deepcopy(model)
    model.zero_grad()
    squared(model(inputs), targets).mean().backward()
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


def test_a_smaller_last_accumulation_is_divided_by_what_was_there():
    stepper = make()
    parts = [batch(6), batch(2, seed=1)]
    expected = whole_gradient(stepper.model, parts)
    stepper.step(parts, lr=0.0, seed=0)
    torch.testing.assert_close(gradients(stepper), expected)


@pytest.mark.parametrize("name", ["fp32", "fp16"])
def test_clipping_acts_on_the_true_gradients(name):
    stepper = make(name=name, clip_grad=0.5)
    expected = whole_gradient(stepper.model, [batch()])
    norm = float(expected.norm())
    assert norm > 0.5
    stepper.step([batch()], lr=0.0, seed=0)
    assert stepper.read()["norm"] == pytest.approx(norm, rel=1e-2)  # with a loss scale of 65536, scaled gradients would be far off
    torch.testing.assert_close(gradients(stepper), expected * 0.5 / norm, rtol=2e-2, atol=2e-3)
    assert stepper.read()["clipped"] == 1


def test_gradients_below_the_limit_are_left_alone():
    stepper = make(clip_grad=1e6)
    expected = whole_gradient(stepper.model, [batch()])
    stepper.step([batch()], lr=0.0, seed=0)
    torch.testing.assert_close(gradients(stepper), expected)
    assert stepper.read()["clipped"] == 0


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("name", ["fp32", "bf16", "fp16"])
def test_a_step_with_infinite_gradients_changes_nothing_but_its_count(name, fused):
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    stepper = make(model, name=name, clip_grad=1.0, optimizer=torch.optim.AdamW(model.parameters(), lr=0.1, fused=fused))
    stepper.step([batch()], lr=0.1, seed=0)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    moments = [stepper.optimizer.state[parameter]["exp_avg"].clone() for parameter in model.parameters()]
    broken = batch()
    broken.inputs[0, 0] = float("inf")
    stepper.step([broken], lr=0.1, seed=1)
    after = model.state_dict()
    assert all(torch.equal(before[key], after[key]) for key in before if "num_batches" not in key)
    assert all(torch.equal(old, stepper.optimizer.state[p]["exp_avg"]) for old, p in zip(moments, model.parameters(), strict=True))
    sums = stepper.read()
    assert (sums["steps"], sums["skipped"], sums["rows"]) == (1, 1, 6)
    assert np.isfinite(sums["loss"])
    stepper.step([batch()], lr=0.1, seed=2)
    assert not torch.equal(before["0.weight"], model.state_dict()["0.weight"])
    assert stepper.read()["streak"] == 0


def test_too_many_such_steps_in_a_row_end_the_run_with_advice():
    stepper = make()
    broken = batch(scale=float("nan"))
    for number in range(MAX_STREAK - 1):
        stepper.step([broken], lr=0.1, seed=number)
    with pytest.raises(RunError, match=f"{MAX_STREAK} optimizer steps in a row.*Lower --lr"):
        stepper.step([broken], lr=0.1, seed=MAX_STREAK)


class Narrow(nn.Module):
    """Runs out of memory above `limit` rows; backward fails there too, after some gradients were made."""

    def __init__(self, limit):
        super().__init__()
        self.limit, self.linear, self.norm = limit, nn.Linear(3, 2), nn.BatchNorm1d(3)
        self.seen = []

    def forward(self, inputs):
        self.seen.append(len(inputs))
        if len(inputs) > self.limit:
            raise torch.OutOfMemoryError("CUDA out of memory (a test)")
        return self.linear(inputs)


def test_out_of_memory_halves_the_micro_batch_and_keeps_the_effective_one():
    lines = []
    stepper = make(Narrow(4), say=lines.append)
    parts = [batch(12), batch(5, seed=1)]
    expected = whole_gradient(stepper.model.linear, parts)
    stepper.step(parts, lr=0.1, seed=0)
    torch.testing.assert_close(torch.cat([p.grad.flatten() for p in stepper.model.linear.parameters()]), expected)
    assert stepper.micro == 3
    assert [line.split(";")[0] for line in lines] == ["out of memory: micro-batch 12 → 6", "out of memory: micro-batch 6 → 3"]
    assert stepper.model.seen == [12, 6, 3, 3, 3, 3, 3, 2]
    assert stepper.read()["rows"] == 17


def test_one_row_too_large_for_memory_is_a_budget_error():
    with pytest.raises(BudgetError, match="micro-batch of 1"):
        make(Narrow(0)).step([batch(4)], lr=0.1, seed=0)


def test_a_rest_of_one_row_passes_batch_norm_and_leaves_its_statistics():
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2))
    stepper = make(model)
    stepper.step([batch(1)], lr=0.1, seed=0)
    assert torch.equal(model[0].running_mean, torch.zeros(3))
    assert model[0].training


def test_dropout_follows_from_the_seed_of_the_step_alone():
    results = []
    for noise in (1, 2):
        torch.manual_seed(0)
        stepper = make(nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 2)))
        torch.manual_seed(noise)
        stepper.step([batch()], lr=0.1, seed=5)
        results.append(stepper.model.state_dict())
    assert all(torch.equal(results[0][key], results[1][key]) for key in results[0])


def test_decay_spares_vectors_biases_and_what_the_model_exempts():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear, self.norm, self.position = nn.Linear(3, 2), nn.LayerNorm(2), nn.Parameter(torch.zeros(1, 4, 2))

        def no_weight_decay(self):
            return {"position"}

    model = Model()
    groups = adamw(model, lr=0.1, weight_decay=0.3).param_groups
    assert [group["weight_decay"] for group in groups] == [0.3, 0.0]
    assert groups[0]["params"] == [model.linear.weight]
    assert len(groups[1]["params"]) == 4


@pytest.mark.parametrize("name", sorted(schedules.SCHEDULES))
def test_schedules_rise_to_the_peak_and_never_leave_their_range(name):
    for total in (1, 2, 7, 100):
        for warmup in (0.0, 0.1, 0.5):
            rates = [schedules.rate(name, step, total, warmup, 2.0) for step in range(total)]
            assert all(0 <= value <= 2.0 for value in rates)
            peak = round(warmup * total)
            if peak < total:
                assert rates[peak] == pytest.approx(2.0)
            assert rates[: peak + 1] == sorted(rates[: peak + 1])
            assert rates[peak:] == sorted(rates[peak:], reverse=True)


def test_one_cycle_is_that_of_torch():
    total, warmup = 50, 0.3
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    theirs = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=total, pct_start=warmup, cycle_momentum=False)
    for step in range(total):
        ours = schedules.one_cycle(step, total, warmup)
        assert abs(ours - optimizer.param_groups[0]["lr"]) < 0.06  # the warm-up's last step differs by one step
        if step == total - 1:
            assert ours == pytest.approx(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if step < total - 1:
            theirs.step()


def test_the_average_has_a_decay_that_warms_up_and_statistics_that_fit():
    assert decay_at(0, 0.999) == pytest.approx(0.1)
    assert decay_at(10**6, 0.999) == 0.999
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    ema = ModelEma(model, 0.9)
    expected = {key: value.clone().double() for key, value in model.state_dict().items()}
    for step in range(5):
        with torch.no_grad():
            for value in [*model.parameters(), model[1].running_mean]:
                value += torch.randn_like(value)
            model[1].num_batches_tracked += 1
        ema.update(step)
        share = decay_at(step, 0.9)
        for key, value in model.state_dict().items():
            expected[key] = share * expected[key] + (1 - share) * value if value.is_floating_point() else value
    for key, value in ema.model.state_dict().items():
        torch.testing.assert_close(value.double(), expected[key].double(), rtol=1e-5, atol=1e-6)


class FakeTrial:
    def __init__(self, loss, *seconds):
        self.loss, self.seconds = loss, list(seconds)

    def first_loss(self):
        return self.loss

    def step(self):
        return self.seconds.pop(0) if len(self.seconds) > 1 else self.seconds[0]


@pytest.mark.parametrize(
    ("trials", "taken", "words"),
    [
        ({"fp32": (1.0, 0.4), "bf16": (1.01, 0.2)}, "bf16", "a step takes bf16 200.0 ms, fp32 400.0 ms"),
        ({"fp32": (1.0, 0.4), "bf16": (1.03, 0.2)}, "fp32", "bf16 refused: its first loss 1.03"),
        ({"fp32": (1.0, 0.4), "bf16": (float("nan"), 0.2)}, "fp32", "bf16 refused"),
        ({"fp32": (1.0, 0.4), "bf16": (1.0, 0.39)}, "fp32", "within 5% the order fp32 bf16 fp16 decides"),
        ({"fp32": (1.0, 0.4), "bf16": (1.0, 1.3, 0.1)}, "fp32", "3.2 times as long"),
        ({"fp32": (1.0, 0.4), "bf16": (1.0, 0.2), "fp16": (1.0, 0.198)}, "bf16", "the order"),
    ],
)
def test_auto_takes_the_fastest_that_agrees_and_says_why(trials, taken, words):
    choice = precision.choose(list(trials), lambda name: FakeTrial(*trials[name]))
    assert choice.name == taken
    assert words in choice.reason


def test_a_choice_is_remembered_by_chip_versions_and_shapes(tmp_path):
    cpu = torch.device("cpu")
    key = precision.key_of(cpu, batch_size=8)
    assert precision.remembered(tmp_path, key) is None
    precision.remember(tmp_path, key, precision.Choice(name="bf16", reason="faster", step_seconds=0.1))
    assert precision.remembered(tmp_path, key).name == "bf16"
    assert precision.remembered(tmp_path, precision.key_of(cpu, batch_size=16)) is None
