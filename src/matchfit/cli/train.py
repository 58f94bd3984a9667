"""`matchfit train`: folds, out-of-fold scores, a submission."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from matchfit.cli.options import Folder, Set, WorkspaceDir


def train(
    folder: Folder,
    out: Annotated[Optional[Path], typer.Option(metavar="DIR", help="The run's folder.  [default: in the workspace]")] = None,  # noqa: UP045
    workspace: WorkspaceDir = None,
    model: Annotated[str | None, typer.Option(help="A timm name, a text model (path, hub name, minilm), tfidf, lightgbm.")] = None,
    pretrained: Annotated[
        str | None, typer.Option(metavar="none|packaged|hub|PATH", help="Weights to start from.  [default: best here]")
    ] = None,
    num_folds: Annotated[Optional[int], typer.Option(help="How many folds.  [default: 5]")] = None,  # noqa: UP045
    folds: Annotated[Optional[str], typer.Option(metavar="0,1", help="Run only these folds.")] = None,  # noqa: UP045
    epochs: Annotated[Optional[float], typer.Option(help="Passes over the training items.")] = None,  # noqa: UP045
    max_time: Annotated[Optional[str], typer.Option(metavar="35m", help="Stop, with all files written, before this long.")] = None,  # noqa: UP045
    batch_size: Annotated[Optional[int], typer.Option(help="Items a step.")] = None,  # noqa: UP045
    lr: Annotated[Optional[float], typer.Option(help="Peak learning rate.")] = None,  # noqa: UP045
    amp: Annotated[Optional[bool], typer.Option("--amp/--no-amp", help="Mixed precision: timed choice, or fp32.")] = None,  # noqa: UP045
    clip_grad: Annotated[Optional[float], typer.Option(help="Largest gradient norm; 0 turns it off.  [default: 1.0]")] = None,  # noqa: UP045
    model_ema: Annotated[bool | None, typer.Option("--model-ema/--no-model-ema", help="Average the weights along the way.")] = None,
    seed: Annotated[Optional[int], typer.Option(help="The run's seed.  [default: 0]")] = None,  # noqa: UP045
    save_every: Annotated[
        int | None, typer.Option(metavar="STEPS", help="Steps between checkpoints.  [default: every epoch]")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with --out, or with the latest unfinished run.")] = False,
    fast_dev_run: Annotated[
        bool, typer.Option("--fast-dev-run", help="Every stage on two batches; all files are written.")
    ] = False,
    settings: Set = None,
) -> None:
    """Train on folds; write out-of-fold scores, predictions and submission.csv. Exit status 0 only when all that was asked is there."""
    from matchfit import api

    flags = {
        "train.model": model,
        "train.pretrained": pretrained,
        "split.num_folds": num_folds,
        "train.epochs": epochs,
        "train.batch_size": batch_size,
        "train.lr": lr,
        "train.precision": None if amp is None else ("auto" if amp else "fp32"),
        "train.clip_grad": clip_grad,
        "train.model_ema": model_ema,
        "train.seed": seed,
        "train.save_every": save_every,
    }
    result = api.train(
        folder,
        out=out,
        workspace=workspace,
        flags={key: value for key, value in flags.items() if value is not None},
        assignments=settings or [],
        folds=folds,
        max_time=max_time,
        resume=resume,
        fast_dev_run=fast_dev_run,
    )
    typer.echo(result.summary())
