"""Columns of times, and whether the host divided train and test along them.

Evidence is the order of train and test items in time: test after train, test in stretches of its own (the last days of every month), or test after
train for every user. Items that are mixed at random are no reason for a split in time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from matchfit.audit.groups import words
from matchfit.competition.problem import Competition
from matchfit.core.seeds import generator
from matchfit.validation.timeline import TimeForm, looks_like_date, parse_times

Float64 = npt.NDArray[np.float64]

# fmt: off
TIME_WORDS = frozenset({
    "date", "datetime", "time", "timestamp", "epoch", "unixtime", "utc", "year", "yr", "day", "week", "created", "posted",
    "published", "block", "step", "period", "quarter",
})
# fmt: on
CYCLES = {
    "day": 31,
    "week": 53,
    "quarter": 4,
    "step": 24,
    "period": 24,
    "time": 24,
}  # highest value of a number that comes round again

MAX_EMPTY = 0.05  # share of train items without a time: a split in time would waste them
LATER = 0.8  # share of test items after the last of train
LATER_IN_USER = 0.9
STRETCHES = 0.3  # changes between train and test in time, relative to items mixed at random
STRETCHES_NUMBER = 0.1  # for plain numbers, which may be anything
MIN_ITEMS = 20
MIN_LATER = 8  # test items that, all after train, are no accident: below 1 in 10^6 beside 20 of train
SAMPLE = 200_000

Relation = Literal["later", "stretches", "later_in_user", "mixed", "unknown"]


@dataclass(frozen=True, kw_only=True)
class TimeColumn:
    """A column of times. `relation`: how test lies to train; `users`: the column within which it is later."""

    name: str
    form: TimeForm
    relation: Relation
    why: str
    users: str = ""
    in_order: bool = False  # rows of train are in time order

    @property
    def by(self) -> tuple[str, ...]:
        return (self.users, self.name) if self.users else (self.name,)


def time_columns(competition: Competition) -> list[TimeColumn]:
    """Columns of times, those that call for a split in time first, dates before plain numbers."""
    order = ("later", "later_in_user", "stretches", "mixed", "unknown")
    found = list(_found(competition))
    return sorted(found, key=lambda column: (order.index(column.relation), column.form == "number"))


def _found(competition: Competition) -> Iterator[TimeColumn]:
    train, test = competition.train.table, competition.test.table
    problem = competition.problem
    features = {feature.name for feature in problem.features}
    outputs = {*problem.targets, *problem.prediction_columns, *problem.classes} - features - set(problem.id_columns)
    for name in train.columns:
        if name in outputs or train.height < MIN_ITEMS:
            continue
        named = bool(TIME_WORDS & set(_time_words(name)))
        if not named and not looks_like_date(train[name]):
            continue
        times = parse_times(train[name])
        if times is None or (times.form != "datetime" and not named) or _comes_round(name, times.seconds_N, times.form):
            continue
        empty = float(np.isnan(times.seconds_N).mean())
        in_order = bool((np.diff(times.seconds_N[~np.isnan(times.seconds_N)]) >= 0).all())
        facts = {"name": name, "form": times.form, "in_order": in_order}
        if name not in test.columns or test.height < MIN_LATER:
            if times.form != "number":
                why = f"test has no {name}" if name not in test.columns else f"{test.height} test items tell nothing about {name}"
                yield TimeColumn(relation="unknown", why=why, **facts)  # type: ignore[arg-type]
            continue
        later = parse_times(test[name])
        if later is None or later.form != times.form:
            continue
        if empty > MAX_EMPTY:
            yield TimeColumn(relation="unknown", why=f"{100 * empty:.0f} % of the train items have no {name}", **facts)  # type: ignore[arg-type]
            continue
        relation, why, users = _relation(competition, name, times.seconds_N, later.seconds_N, times.form)
        if relation != "mixed" or times.form != "number":
            yield TimeColumn(relation=relation, why=why, users=users, **facts)  # type: ignore[arg-type]


def _time_words(name: str) -> list[str]:
    return [
        part
        for word in words(name)
        for part in (word, *(found for found in ("date", "timestamp", "datetime") if word.endswith(found)))
    ]


def _comes_round(name: str, value_N: Float64, form: TimeForm) -> bool:
    """True for an hour, a weekday, a month: numbers that repeat, and whose order is not time."""
    if form != "number":
        return False
    highest, lowest = float(np.nanmax(value_N)), float(np.nanmin(value_N))
    found = [limit for word, limit in CYCLES.items() if word in _time_words(name)]
    return lowest >= 0 and bool(found) and highest <= max(found)


def _relation(competition: Competition, name: str, train_N: Float64, test_N: Float64, form: TimeForm) -> tuple[Relation, str, str]:
    """(relation, why in words, user column)."""
    known_train, known_test = train_N[~np.isnan(train_N)], test_N[~np.isnan(test_N)]
    if len(known_train) < MIN_ITEMS or len(known_test) < MIN_LATER:
        return "unknown", f"too few items have a {name}", ""
    later = float((known_test > known_train.max()).mean())
    if later >= LATER and (form != "number" or later > 0.99):
        return "later", f"{100 * later:.0f} % of the test items have a later {name} than all of train", ""
    if len(known_test) < MIN_ITEMS:
        return "unknown", f"too few test items have a {name}", ""
    for users in _user_columns(competition, name):
        share, typical = _later_in_user(competition, users, train_N, test_N)
        if share >= LATER_IN_USER and typical < 0.5:
            return (
                "later_in_user",
                f"{100 * share:.0f} % of the test items have a {name} at or after the last train item of the same {users} "
                f"({100 * typical:.0f} % if they were mixed at random)",
                users,
            )
    ratio, changes = _changes(known_train, known_test)
    if ratio < (STRETCHES_NUMBER if form == "number" else STRETCHES):
        return (
            "stretches",
            f"along {name} train and test lie in stretches of their own: {changes:,} changes between them, "
            f"{_percent(ratio)} of what items mixed at random would show",
            "",
        )
    return "mixed", f"along {name} train and test are mixed as at random ({_percent(ratio)} of the expected changes)", ""


def still_in_stretches(competition: Competition, name: str, groups: pl.Series, test_groups: pl.Series) -> bool:
    """Whether train and test lie in stretches along `name` when every group counts once, at its first time.

    Groups that lie close in time (the images of one visit) make stretches of items even where the host divided groups at random.
    """
    firsts = []
    for items, labels in ((competition.train, groups), (competition.test, test_groups)):
        times = parse_times(items.table[name])
        if times is None:
            return True
        frame = pl.DataFrame({"group": labels, "time": times.seconds_N}).drop_nulls().filter(pl.col("time").is_not_nan())
        firsts.append(frame.group_by("group", maintain_order=True).agg(pl.col("time").min())["time"].to_numpy())
    if min(map(len, firsts)) < 3:
        return False
    return _changes(*firsts)[0] < STRETCHES


def _user_columns(competition: Competition, time_name: str) -> Iterator[str]:
    """Columns that train and test share, whose values repeat in train and mostly are the same in test."""
    train, test = competition.train.table, competition.test.table
    for name in train.columns:
        if name == time_name or name not in test.columns:
            continue
        number = train[name].n_unique()
        if not 5 <= number <= train.height / 3:
            continue
        known = test[name].is_in(train[name].unique().implode()).mean()
        if isinstance(known, float) and known >= 0.8:
            yield name


def _later_in_user(competition: Competition, users: str, train_N: Float64, test_N: Float64) -> tuple[float, float]:
    """(share of test items at or after the last train item of their user, that share for items mixed at random).

    Mixed at random, a test item of a user with c train items is after all of them with probability 1 / (c + 1). Users without train items
    do not count.
    """
    last = (
        pl.DataFrame({"user": competition.train.table[users], "time": train_N})
        .drop_nulls()
        .group_by("user")
        .agg(pl.col("time").max().alias("last"), pl.col("time").n_unique().alias("count"))
    )
    joined = pl.DataFrame({"user": competition.test.table[users], "time": test_N}).join(last, on="user").drop_nulls()
    if joined.height < MIN_ITEMS:
        return 0.0, 1.0
    share = (joined["time"] >= joined["last"]).mean()
    typical = (1 / (joined["count"] + 1)).mean()
    assert isinstance(share, float)
    assert isinstance(typical, float)
    return share, typical


def _changes(train_N: Float64, test_N: Float64) -> tuple[float, int]:
    """(changes between train and test along time / expected number, that number): the runs test of Wald and Wolfowitz (1940).

    Equal times are put in a random order, so that a day with items of both counts as mixed.
    """
    random = generator(0, "audit", "runs")
    train_N, test_N = (_sampled(values, random) for values in (train_N, test_N))
    time = np.concatenate([train_N, test_N])
    is_test = np.repeat([False, True], [len(train_N), len(test_N)])
    order = np.lexsort((random.random(len(time)), time))
    changes = int((np.diff(is_test[order].astype(np.int8)) != 0).sum())
    expected = 2 * len(train_N) * len(test_N) / len(time)
    return changes / expected, changes


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.0f} %" if ratio >= 0.01 else f"{100 * ratio:.1g} %"


def _sampled(values: Float64, random: np.random.Generator) -> Float64:
    return values if len(values) <= SAMPLE else values[random.choice(len(values), SAMPLE, replace=False)]
