"""`train`: from a folder to out-of-fold scores and a submission, by way of one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchfit.competition.problem import Competition, Targets
from matchfit.core.console import say as say_aloud
from matchfit.core.durations import Deadline, parse_duration
from matchfit.core.errors import BudgetError, ConfigError, RunError
from matchfit.core.records import read_record
from matchfit.core.workspace import Workspace, claim, workspace_for
from matchfit.learners.records import RUN_SCHEMA
from matchfit.settings import Settings, assigned_keys, load_settings
from matchfit.validation.config import SplitConfig

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from matchfit.learners.run import Clock, Plan
    from matchfit.validation.folds import Folds


@dataclass(frozen=True, kw_only=True)
class TrainResult:
    """A finished run: its folder and its record (the content of `record.json`)."""

    directory: Path
    record: dict[str, Any]

    def summary(self) -> str:
        """The lines that `matchfit train` ends with."""
        from matchfit.steps.train_text import result_text

        return result_text(self.directory, self.record)


@dataclass(frozen=True, kw_only=True)
class _Prepared:
    competition: Competition
    targets: Targets
    near_duplicate_N: npt.NDArray[np.int64] | None
    split: SplitConfig  # kind and columns settled


def train(
    folder: Path | str,
    *,
    out: Path | str | None = None,
    workspace: Path | str | None = None,
    flags: Mapping[str, Any] | None = None,
    assignments: Sequence[str] = (),
    folds: str | None = None,
    max_time: str | None = None,
    resume: bool = False,
    fast_dev_run: bool = False,
    say: Callable[[str], None] = say_aloud,
) -> TrainResult:
    """Train on folds and write everything that belongs to a run; returns it.

    `flags` are settings by their full key (`{"train.lr": 0.001}`), `assignments` texts `key=value` with any key of matchfit.yaml.
    Raises ConfigError or DataError before long work, RunError when the run's folder is taken, BudgetError when `max_time` came before all that
    was asked was there (what was finished is written).
    """
    from matchfit.core.lock import exclusive
    from matchfit.learners.run import Clock, run_folds

    clock, deadline = Clock(), Deadline(None if max_time is None else parse_duration(max_time, name="--max-time"))
    folder = Path(folder)
    place = workspace_for(folder, None if workspace is None else Path(workspace))
    directory = _resumed_directory(place, out) if resume else _free_directory(out)
    stored = read_record(directory / "run.json", schema=RUN_SCHEMA) if resume and directory is not None else None
    settings = load_settings(place.settings, assignments, flags)
    given = frozenset(settings.train.model_fields_set)
    if stored is not None:
        settings = _resumed_settings(settings, stored, set(flags or {}) | assigned_keys(assignments))
    with clock.phase("read"):
        prepared = _prepare(folder, place, settings, given, say)
    plan, assigned = _plan(prepared, place, settings, folds, fast_dev_run, stored, say, clock)
    directory = directory or (Path(out) if out is not None else place.new_run(plan.learner))
    with exclusive(directory, purpose="train in this folder"):
        _refuse_other_data(stored, plan, directory)
        place.register(event="started", run=str(directory.resolve()), learner=plan.learner, fast_dev_run=fast_dev_run)
        outcome = run_folds(
            plan,
            prepared.competition,
            prepared.targets,
            assigned,
            directory=directory,
            cache=place.cache,
            deadline=deadline,
            say=say,
            clock=clock,
            resume=resume,
        )
    score = outcome.record["score"]
    place.register(
        event="finished",
        run=str(directory.resolve()),
        learner=plan.learner,
        fast_dev_run=fast_dev_run,
        metric=score["metric"],
        direction=score["direction"],
        oof=score["oof"],
        scored=outcome.record["rows"]["scored"],
        folds_hash=plan.folds_hash,
        missing=list(outcome.missing),
    )
    result = TrainResult(directory=directory, record=outcome.record)
    if outcome.missing:
        say(result.summary())
        raise BudgetError(
            f"--max-time {max_time}",
            rule="all that was asked must be done in that time",
            found=f"folds {', '.join(map(str, outcome.missing))} missing; the rest is written to {directory}",
            todo="Go on with --resume and more time.",
        )
    return result


def _resumed_directory(place: Workspace, out: Path | str | None) -> Path:
    from matchfit.steps.runs import unfinished_run

    if out is None:
        return unfinished_run(place)
    if not (Path(out) / "run.json").exists():
        raise RunError(
            f"--resume --out {out}", rule="must be a run's folder", found="no run.json there", todo="Start it without --resume."
        )
    return Path(out)


def _free_directory(out: Path | str | None) -> Path | None:
    """Raises RunError when the folder named by `--out` holds a run or other files."""
    if out is None:
        return None
    path = Path(out)
    if (path / "run.json").exists():
        raise RunError(
            f"--out {out}",
            rule="must be a new folder",
            found="a run",
            todo="Add --resume to go on with it, or choose another folder.",
        )
    if path.exists() and (not path.is_dir() or any(entry.name != ".lock" for entry in path.iterdir())):
        raise RunError(f"--out {out}", rule="must be a new or an empty folder", found="other files", todo="Choose another folder.")
    return path


def _resumed_settings(settings: Settings, stored: dict[str, Any], given: set[str]) -> Settings:
    """The stored run's settings with what may change; raises ConfigError for a key that is given now and would change the computation."""
    from matchfit.core.config import validated
    from matchfit.learners.config import TrainConfig
    from matchfit.learners.run import FREE_ON_RESUME

    kept, now = dict(stored["train"]), settings.train.model_dump(mode="json")
    for key in sorted(name.removeprefix("train.") for name in given if name.startswith("train.")):
        if key not in FREE_ON_RESUME and now[key] != kept[key]:
            raise ConfigError(
                f"--resume with {key}",
                rule="a resumed run keeps what decides its result",
                found=f"{now[key]!r} instead of {kept[key]!r}",
                todo=f"Leave it out, or start a new run. These may change: {', '.join(sorted(FREE_ON_RESUME))}.",
            )
        kept[key] = now[key]
    return settings.model_copy(update={"train": validated(TrainConfig, kept, source="run.json")})


def _prepare(folder: Path, place: Workspace, settings: Settings, given: frozenset[str], say: Callable[[str], None]) -> _Prepared:
    """The competition, its targets, and what the inspection says about copies and the split; inspects first when nobody has."""
    from matchfit.competition.read import read_competition
    from matchfit.steps.inspect import INSPECTION_SCHEMA, check_folder, encoded_targets, inspect_with
    from matchfit.validation.assignment import hash_items

    check_folder(folder)
    claim(place, folder)
    competition = read_competition(folder, settings.competition, scratch=place.cache / "files")
    _refuse_untrainable(competition, settings, given)
    targets = encoded_targets(competition)
    assert targets is not None  # tasks without targets were refused
    try:
        seen = read_record(place.root / "inspection.json", schema=INSPECTION_SCHEMA)
    except RunError:
        seen = {}
    if seen.get("item_hash") == hash_items(competition.train.ids):
        kind, by = seen["split"]["kind"], tuple(seen["split"]["by"])
        clusters = _stored_clusters(place) if seen["near_duplicates"] else None
    else:
        say("not inspected yet: looking at the data first (matchfit inspect shows the findings)")
        inspection = inspect_with(folder, place, settings, say=say)
        kind, by, clusters = inspection.split_kind, inspection.split_by, inspection.near_duplicate_N
    advised = settings.split.model_copy(update={"kind": kind, "by": by})
    split = advised if settings.split.kind is None else settings.split
    return _Prepared(
        competition=competition, targets=targets, near_duplicate_N=clusters if split.near_duplicates else None, split=split
    )


def _refuse_untrainable(competition: Competition, settings: Settings, given: frozenset[str]) -> None:
    """Everything that can be refused before the data is looked at: the learner, its keys, the metric."""
    from matchfit.competition.metrics import get_metric
    from matchfit.learners.members import choose_learner, make_learner, refuse_unused

    learner, _ = choose_learner(competition.problem, settings.train)
    refuse_unused(make_learner(learner, competition.problem, settings.train), given)
    get_metric(competition.problem.metric, competition.problem)
    if not len(competition.train):
        from matchfit.core.errors import DataError

        raise DataError(
            str(competition.folder),
            rule="must have training items",
            found="none",
            todo="Set competition.train_table in matchfit.yaml.",
        )


def _stored_clusters(place: Workspace) -> npt.NDArray[np.int64]:
    import polars as pl

    clusters: npt.NDArray[np.int64] = pl.read_parquet(place.root / "near_duplicates.parquet")["cluster"].to_numpy()
    return clusters


def _plan(
    prepared: _Prepared,
    place: Workspace,
    settings: Settings,
    folds: str | None,
    fast_dev_run: bool,
    stored: dict[str, Any] | None,
    say: Callable[[str], None],
    clock: Clock,
) -> tuple[Plan, Folds]:
    from matchfit.learners.members import choose_learner
    from matchfit.learners.run import Plan
    from matchfit.validation.folds import group_overlap

    problem = prepared.competition.problem
    learner, why = choose_learner(problem, settings.train)
    with clock.phase("folds"):
        assigned = _folds(prepared, place)
    ran = _asked_folds(folds, assigned.num_folds)
    if stored is not None:
        fast_dev_run = stored["fast_dev_run"]
        ran = ran if folds is not None else tuple(stored["folds"])
    say(
        f"{problem.name}: {problem.modality}, {problem.task}; {len(prepared.competition.train)} train and {len(prepared.competition.test)} test items"
    )
    say(f"learner: {learner} ({why}); metric: {problem.metric.name}{' (a guess)' if problem.metric.guessed else ''}")
    by = f" by {', '.join(assigned.by)}" if assigned.by else ""
    say(
        f"folds: {assigned.num_folds}, {assigned.kind}{by}; groups on both sides of a fold: {group_overlap(assigned)}; hash {assigned.hash[:12]}"
    )
    for note in assigned.notes:
        say(f"folds: {note}")
    plan = Plan(
        problem=problem, learner=learner, config=settings.train, folds_hash=assigned.hash, ran=ran, fast_dev_run=fast_dev_run
    )
    return plan, assigned


def _folds(prepared: _Prepared, place: Workspace) -> Folds:
    """The folds of these split settings: read when a run has used them before, planned and written otherwise."""
    from matchfit.core.records import content_hash
    from matchfit.validation.assignment import hash_items
    from matchfit.validation.folds import plan_folds, read_folds, write_folds

    items, split = prepared.competition.train, prepared.split
    clusters = None if prepared.near_duplicate_N is None else prepared.near_duplicate_N.tolist()
    key = content_hash([split.model_dump(mode="json"), hash_items(items.ids), clusters])[:16]
    path = place.folds / f"{split.kind}-{split.num_folds}-{key}.parquet"
    if path.exists():
        return read_folds(path, items.ids)
    folds = plan_folds(items.ids, prepared.targets, split, items.table, prepared.near_duplicate_N)
    write_folds(path, folds)
    return folds


def _asked_folds(text: str | None, num_folds: int) -> tuple[int, ...]:
    """`--folds 0,1` as numbers; all of them when it is not given."""
    if text is None:
        return tuple(range(num_folds))
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) < num_folds for part in parts) or len(set(parts)) != len(parts):
        raise ConfigError(
            f"--folds {text}",
            rule=f"must be different numbers from 0 to {num_folds - 1}",
            found=repr(text),
            todo="For example --folds 0,1",
        )
    return tuple(sorted(int(part) for part in parts))


def _refuse_other_data(stored: dict[str, Any] | None, plan: Plan, directory: Path) -> None:
    """Raises RunError when a resumed run's folds or problem are not those of the folder as it is now."""
    if stored is None:
        return
    from matchfit.core.records import jsonable

    now = plan.as_json()
    if any(jsonable(now["problem"])[key] != value for key, value in stored["problem"].items() if key != "metric"):
        raise RunError(
            str(directory),
            rule="--resume needs the same problem",
            found="the folder is read otherwise now",
            todo="Start a new run.",
        )
    if stored["learner"] != now["learner"]:
        raise RunError(
            str(directory),
            rule="--resume needs the same learner",
            found=f"{now['learner']} instead of {stored['learner']}",
            todo="Start a new run.",
        )
    if stored["folds_hash"] != now["folds_hash"]:
        raise RunError(
            str(directory),
            rule="--resume needs the run's folds",
            found=f"folds with the hash {now['folds_hash'][:12]} instead of {stored['folds_hash'][:12]}",
            todo="Give --num-folds and the keys of split as at its start, or start a new run.",
        )
