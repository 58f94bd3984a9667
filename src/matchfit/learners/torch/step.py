"""One optimizer step: scale → backward (a micro-batch at a time) → unscale → clip → step → update.

Nothing here waits for the device in the usual case: sums stay on it until somebody reads them, and a step with non-finite gradients is
skipped by the optimizer's own `found_inf`. Shapes: B rows of a batch, K outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase

from matchfit.core.errors import BudgetError, RunError
from matchfit.learners.torch.optimizers import is_fused, trainable
from matchfit.learners.torch.precision import Precision
from matchfit.modalities.base import Batch

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
COUNTERS = ("loss", "rows", "norm", "steps", "clipped", "skipped", "streak")
MAX_STREAK = 25  # steps skipped in a row; a new loss scale of fp16 may need up to 16 to come down to 1


def place(
    inputs: torch.Tensor | dict[str, torch.Tensor], device: torch.device, channels_last: bool
) -> torch.Tensor | dict[str, torch.Tensor]:
    """Inputs on the device, images in the layout of the model."""
    if isinstance(inputs, dict):
        return {key: value.to(device, non_blocking=True) for key, value in inputs.items()}
    if channels_last and inputs.ndim == 4:
        return inputs.to(device, non_blocking=True, memory_format=torch.channels_last)
    return inputs.to(device, non_blocking=True)


def forward(model: nn.Module, inputs: torch.Tensor | dict[str, torch.Tensor]) -> torch.Tensor:
    outputs: torch.Tensor = model(**inputs) if isinstance(inputs, dict) else model(inputs)
    return outputs


def pieces(batch: Batch, micro: int | None) -> Iterator[tuple[torch.Tensor | dict[str, torch.Tensor], torch.Tensor | None]]:
    """(inputs, targets) of at most `micro` rows."""
    num_rows = len(batch.rows)
    size = micro or num_rows
    for start in range(0, num_rows, size):
        part = slice(start, start + size)
        inputs = {k: v[part] for k, v in batch.inputs.items()} if isinstance(batch.inputs, dict) else batch.inputs[part]
        yield inputs, None if batch.targets is None else batch.targets[part]


class Stepper:
    """Model, loss and optimizer, and how a step is made of them.

    `micro` is the largest number of rows in one forward pass (None: a whole batch); it is halved when memory runs out. The step's loss is
    the sum over all its rows divided by their true number, however they are cut, so a smaller last accumulation weighs its rows alike.
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        optimizer: torch.optim.Optimizer,
        precision: Precision,
        *,
        clip_grad: float,
        channels_last: bool,
        say: Callable[[str], None],
    ) -> None:
        self.model, self.loss, self.optimizer, self.precision = model, loss, optimizer, precision
        self.clip_grad, self.channels_last, self.say = clip_grad, channels_last, say
        self.scaler = precision.scaler()
        self.micro: int | None = None
        self._parameters = list(trainable(model).values())
        self.device = self._parameters[0].device
        self._norms = [module for module in model.modules() if isinstance(module, _NormBase) and module.track_running_stats]
        self._statistics = [
            buffer for module in self._norms for buffer in (module.running_mean, module.running_var) if buffer is not None
        ]
        self._before = [buffer.clone() for buffer in self._statistics]
        self._fused = is_fused(optimizer)
        exact = torch.float32 if self.device.type == "mps" else torch.float64
        self.counters = torch.zeros(len(COUNTERS), dtype=exact, device=self.device)

    def step(self, batches: Sequence[Batch], *, lr: float, seed: int) -> None:
        """One update from all rows of `batches`. Dropout's randomness follows from `seed` alone.

        Raises BudgetError when one row is too much for the memory, RunError after MAX_STREAK steps with non-finite gradients.
        """
        num_rows = sum(len(batch.rows) for batch in batches)
        if self._statistics:
            torch._foreach_copy_(self._before, self._statistics)
        while True:
            torch.manual_seed(seed)
            try:
                loss = self._gradients(batches, num_rows)
                break
            except torch.OutOfMemoryError:
                pass  # what the failed pass holds is freed when the handler is left, so the retry comes after it
            self._halve(max(len(batch.rows) for batch in batches))
        norm, finite = self._update(lr)
        self._restore_statistics(finite)
        self._count(loss, num_rows, norm, finite)
        if self.device.type == "cpu":
            self.check_streak()

    @torch.no_grad()
    def loss_on(self, batch: Batch) -> float:
        """The mean loss of a batch as the model stands and in the mode that it is in; nothing is learnt."""
        while True:
            try:
                parts = [self._loss_of(inputs, targets) for inputs, targets in pieces(batch, self.micro) if targets is not None]
                return float(sum(parts)) / len(batch.rows)
            except torch.OutOfMemoryError:
                pass
            self._halve(len(batch.rows))

    def _gradients(self, batches: Sequence[Batch], num_rows: int) -> torch.Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        total = torch.zeros((), device=self.device)
        for batch in batches:
            for inputs, targets in pieces(batch, self.micro):
                assert targets is not None
                loss = self._loss_of(inputs, targets) / num_rows
                scaled = loss if self.scaler is None else self.scaler.scale(loss)
                scaled.backward()  # type: ignore[no-untyped-call]
                total += loss.detach()
        return total

    def _loss_of(self, inputs: torch.Tensor | dict[str, torch.Tensor], targets: torch.Tensor) -> torch.Tensor:
        with _one_row(self._norms, alone=len(targets) == 1), self.precision.autocast():
            outputs = forward(self.model, place(inputs, self.device, self.channels_last))
        return self.loss(outputs.float(), targets.to(self.device, non_blocking=True)).sum()

    def _update(self, lr: float) -> tuple[torch.Tensor, torch.Tensor]:
        """(norm of the true gradients, is it finite), both on the device."""
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        if self.scaler is not None:
            self.scaler.unscale_(self.optimizer)
        norm = nn.utils.get_total_norm([p.grad for p in self._parameters if p.grad is not None], foreach=self._fused or None)
        finite = torch.isfinite(norm)
        if self.clip_grad > 0:
            nn.utils.clip_grads_with_norm_(self._parameters, self.clip_grad, norm, foreach=self._fused or None)
        if self.scaler is not None:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        elif self._fused:
            self.optimizer.found_inf = (~finite).float()  # type: ignore[attr-defined]  # the fused kernel leaves all as it is then
            self.optimizer.step()
        elif bool(finite):
            self.optimizer.step()
        return norm, finite

    def _restore_statistics(self, finite: torch.Tensor) -> None:
        """A skipped step must not leave its infinite activations in BatchNorm's running statistics."""
        if self.device.type == "cpu":
            if self._statistics and not bool(finite):
                torch._foreach_copy_(self._statistics, self._before)
            return
        for now, before in zip(self._statistics, self._before, strict=True):
            torch.where(finite, now, before, out=now)

    def _count(self, loss: torch.Tensor, num_rows: int, norm: torch.Tensor, finite: torch.Tensor) -> None:
        zero = torch.zeros_like(norm)
        good = finite.to(norm.dtype)
        clipped = (norm > self.clip_grad).to(norm.dtype) if self.clip_grad > 0 else zero
        seen = torch.stack(
            (
                torch.where(finite, loss * num_rows, zero),
                good * num_rows,
                torch.where(finite, norm, zero),
                good,
                clipped * good,
                1 - good,
                1 - good,
            )
        )
        self.counters[-1] *= 1 - good
        self.counters += seen

    def check_streak(self) -> None:
        """Raises RunError when too many steps in a row had non-finite gradients. Waits for the device."""
        streak = int(self.counters[-1])
        if streak >= MAX_STREAK:
            raise RunError(
                "train.lr",
                rule="gradients must be finite",
                found=f"{streak} optimizer steps in a row with NaN or infinite gradients in {self.precision.name}",
                todo="Lower --lr, keep --clip-grad above 0, or take --set precision=fp32; `matchfit inspect` lists broken inputs.",
            )

    def read(self) -> dict[str, float]:
        """The counters since `reset`. Waits for the device."""
        self.check_streak()
        return dict(zip(COUNTERS, self.counters.tolist(), strict=True))

    def reset(self) -> None:
        """Start counting anew; the streak of skipped steps goes on."""
        self.counters[:-1] = 0

    def _halve(self, largest: int) -> None:
        if self._statistics:
            torch._foreach_copy_(self._statistics, self._before)
        self.optimizer.zero_grad(set_to_none=True)
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        rows = min(self.micro or largest, largest)
        if rows <= 1:
            raise BudgetError(
                "memory",
                rule="one item must fit into the device's memory",
                found=f"out of memory with a micro-batch of 1 on {self.device}",
                todo="Take smaller inputs (--set image_size=…, --set max_length=…), a smaller --model, or precision=bf16.",
            )
        self.micro = (rows + 1) // 2
        note = " BatchNorm sees smaller batches." if self._norms else ""
        self.say(f"out of memory: micro-batch {rows} → {self.micro}; the effective batch stays.{note}")


@contextmanager
def _one_row(norms: Sequence[_NormBase], *, alone: bool) -> Iterator[None]:
    """BatchNorm cannot take the variance of one row: for such a rest it uses its running statistics."""
    active = [module for module in norms if module.training] if alone else []
    for module in active:
        module.eval()
    try:
        yield
    finally:
        for module in active:
            module.train()
