"""Times as text in the forms that hosts write."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

from matchfit.validation.timeline import looks_like_date, parse_times, time_blocks, user_blocks

JUNE = datetime(2012, 6, 18, 19, 21, 55, tzinfo=UTC).timestamp()
DAY = datetime(2012, 6, 18, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "form", "seconds"),
    [
        ("2012-06-18 19:21:55", "datetime", JUNE),
        ("2012-06-18T19:21:55.123456Z", "datetime", JUNE),
        ("2012-06-18 19:21:55 UTC", "datetime", JUNE),
        ("2012-06-18T19:21:55+02:00", "datetime", JUNE),
        ("2012-06-18 19:21", "datetime", JUNE - 55),
        ("20120618192155Z", "datetime", JUNE),
        ("20120618", "datetime", DAY),
        ("2012-06-18", "datetime", DAY),
        ("18.06.2012", "datetime", DAY),
        ("6/18/2012", "datetime", DAY),
        ("18/06/2012", "datetime", DAY),
        ("6/18/2012 7:21:55 PM", "datetime", JUNE),
        ("Jun 18, 2012", "datetime", DAY),
        ("2012年06月18日", "datetime", DAY),
        (str(int(JUNE)), "epoch", JUNE),
        (f"{int(JUNE)}000", "epoch", JUNE),
        ("2012", "number", 2012.0),
        ("17.5", "number", 17.5),
    ],
)
def test_forms(text: str, form: str, seconds: float):
    times = parse_times(pl.Series([text, None, text]))
    assert times is not None
    assert times.form == form
    assert times.seconds_N[0] == seconds
    assert np.isnan(times.seconds_N[1])


@pytest.mark.parametrize("values", [["a", "b"], ["2012-06-18", "soon"], ["2012-13-45"], [None, None], ["", " "], ["1", "nan"]])
def test_what_is_no_time(values: list[str | None]):
    assert parse_times(pl.Series(values, dtype=pl.String)) is None


def test_numbers_count_only_when_asked():
    assert parse_times(pl.Series(["1", "2"]), numbers=False) is None


def test_blocks_share_equal_times():
    order = np.array([5.0, 1, 1, 1, 2, 3, 4, np.nan, 5, 6])
    block = time_blocks(order, 3)
    assert (np.diff(block[np.argsort(order)]) >= 0).all()
    assert len(set(block[[1, 2, 3]].tolist())) == 1
    assert block[0] == block[8]
    assert set(block.tolist()) == {0, 1, 2, 3}
    with pytest.raises(ValueError, match="2 distinct"):
        time_blocks(np.array([1.0, 2, 1]), 3)


def test_blocks_within_users():
    user = np.repeat([1, 0], 6)
    order = np.r_[np.arange(6.0), [9, 9, 9, 10, 11, 12]]
    block, position = user_blocks(user, order, 3)
    assert block.tolist() == [0, 0, 1, 1, 2, 2, 0, 0, 0, 1, 2, 2]
    assert position[6] == position[8] == 0.0
    assert (position < 1).all()


def test_users_with_few_items_fill_all_blocks_and_stay_in_order():
    user = np.repeat(np.arange(400), np.arange(400) % 3 + 1)
    order = np.arange(len(user), dtype=np.float64)
    block, _ = user_blocks(user, order, 6)
    first = np.r_[True, user[1:] != user[:-1]]
    assert (block[first] == 0).all()
    assert (np.diff(block)[~first[1:]] > 0).all()
    assert np.bincount(block, minlength=6)[1:].min() > 0.8 * np.bincount(block)[1:].mean()


@pytest.mark.parametrize("cells", [["28 December 2019", "3 May 2020"], ["December 28, 2019", "May 3, 2020"]])
def test_months_by_their_whole_names(cells: list[str]) -> None:
    column = pl.Series("when", cells)
    assert looks_like_date(column)
    times = parse_times(column)
    assert times is not None
    assert times.seconds_N.tolist() == [1577491200.0, 1588464000.0]
