"""The prediction table: one layout, read back strictly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from matchfit.competition.problem import KEY_SEPARATOR, Predictions
from matchfit.core.errors import RunError
from matchfit.validation.oof import oof_frame, read_oof, write_oof

IDS = pl.Series([f"{user}{KEY_SEPARATOR}{step}" for user, step in (("007", "1"), ("007", "2"), ("1e5", "1"))])
SCORES = Predictions(columns=("a b", "c"), scores_NK=np.array([[0.25, 0.75], [0.5, 0.5], [1 / 3, 2 / 3]]))


def test_round_trip_keeps_ids_as_text_and_scores_to_the_bit(tmp_path: Path):
    frame = oof_frame(IDS, ("user", "step"), np.array([0, 1, -1]), pl.DataFrame({"y": ["NA", None, "c"]}), SCORES)
    assert frame.columns == ["id:user", "id:step", "fold", "target:y", "score:a b", "score:c"]
    path = tmp_path / "oof.parquet"
    write_oof(path, frame)
    back = read_oof(path, IDS, columns=("a b", "c"))
    assert back.ids.to_list() == IDS.to_list()
    assert back.fold_N.tolist() == [0, 1, -1]
    assert back.target_table["y"].to_list() == ["NA", None, "c"]
    assert (back.predictions.scores_NK == SCORES.scores_NK).all()
    turned = read_oof(path, IDS.reverse())
    assert (turned.predictions.scores_NK == SCORES.scores_NK[::-1]).all()
    assert turned.ids.to_list() == IDS.reverse().to_list()


def test_a_test_table_has_the_same_layout_without_folds_and_targets(tmp_path: Path):
    frame = oof_frame(pl.Series(["0", "1", "2"]), (), None, None, SCORES)
    assert frame.columns == ["id:row", "fold", "score:a b", "score:c"]
    write_oof(tmp_path / "test.parquet", frame)
    assert read_oof(tmp_path / "test.parquet").fold_N.tolist() == [-1, -1, -1]


def test_some_folds_may_be_read_as_a_part_of_all_items(tmp_path: Path):
    path = tmp_path / "oof.parquet"
    write_oof(path, oof_frame(IDS, ("user", "step"), np.zeros(3, dtype=np.int64), None, SCORES))
    more = pl.concat([pl.Series([f"x{KEY_SEPARATOR}9"]), IDS.reverse()])
    assert read_oof(path, more, subset=True).ids.to_list() == IDS.reverse().to_list()
    with pytest.raises(RunError, match="1 missing, 0 unknown"):
        read_oof(path, more)
    with pytest.raises(RunError, match="0 missing, 1 unknown"):
        read_oof(path, IDS[1:])
    with pytest.raises(RunError, match="scores for c"):
        read_oof(path, IDS, columns=("c",))


def test_ids_that_the_host_repeats_are_told_apart_by_their_order(tmp_path: Path):
    ids = pl.Series([IDS[0], IDS[1], IDS[0]])
    path = tmp_path / "oof.parquet"
    write_oof(path, oof_frame(ids, ("user", "step"), None, None, SCORES))
    table = read_oof(path, pl.Series([IDS[0], IDS[0], IDS[1]]))
    np.testing.assert_array_equal(table.predictions.scores_NK, SCORES.scores_NK[[0, 2, 1]])
    assert table.ids.to_list() == [IDS[0], IDS[0], IDS[1]]


def test_faults_are_named(tmp_path: Path):
    with pytest.raises(RunError, match="ids 2, scores 3"):
        oof_frame(IDS[:2], ("user", "step"), None, None, SCORES)
    with pytest.raises(RunError, match="2 parts"):
        oof_frame(pl.Series(["a", "b", "c"]), ("user", "step"), None, None, SCORES)
    path = tmp_path / "oof.parquet"
    broken = oof_frame(IDS, ("user", "step"), None, None, SCORES).with_columns(pl.lit(float("nan")).alias("score:c"))
    write_oof(path, broken)
    with pytest.raises(RunError, match="NaN or infinity"):
        read_oof(path)
    write_oof(path, oof_frame(IDS, ("user", "step"), None, None, SCORES)[[0, 1, 1]])
    with pytest.raises(RunError, match="1 missing, 1 unknown or repeated"):
        read_oof(path, IDS)
    pl.DataFrame({"id": [1]}).write_parquet(path)
    with pytest.raises(RunError, match="must have id:"):
        read_oof(path)
    with pytest.raises(RunError, match="must be a prediction table"):
        read_oof(tmp_path / "none.parquet")
