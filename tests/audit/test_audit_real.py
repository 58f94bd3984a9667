"""Findings on real competitions: what is known to be there is found, and nothing is said where nothing is."""

from __future__ import annotations

import pytest

from matchfit.audit.audit import Audit, audit_competition
from matchfit.competition.config import CompetitionConfig
from matchfit.competition.read import read_competition
from matchfit.competition.targets import encode_targets

pytestmark = [pytest.mark.peers, pytest.mark.slow]


@pytest.fixture
def audit_of(real_competition):
    def run(name: str) -> Audit:
        competition = read_competition(real_competition(name), CompetitionConfig())
        targets = encode_targets(competition.problem, competition.target_table)
        return audit_competition(competition, targets=targets, say=lambda _: None)

    return run


def codes(audit: Audit) -> set[str]:
    return {finding.code for finding in audit.findings}


def test_trashnet_has_copies_with_two_labels(audit_of):
    """Its three pairs of equal files with two labels are known; one of them has a side in test."""
    audit = audit_of("trashnet")
    contradicting = next(finding for finding in audit.findings if finding.code == "contradicting_labels")
    assert len(contradicting.rows) == 4
    assert 20 <= audit.near_duplicate_N.max() + 1 <= 45
    assert not codes(audit) & {"drift", "leaking_file", "leaking_id", "ordered_rows", "unreadable_media"}


def test_adult_income_is_quiet(audit_of):
    assert not codes(audit_of("adult-income")) & {
        "drift",
        "leaking_column",
        "leaking_id",
        "ordered_rows",
        "numbers_as_text",
        "id_like_columns",
    }


def test_banking77_is_quiet(audit_of):
    assert not codes(audit_of("banking77")) & {"drift", "leaking_id", "ordered_rows", "damaged_texts", "long_texts"}


def test_bike_sharing_drifts_with_time(audit_of):
    audit = audit_of("bike-sharing-demand")
    assert {"drift", "test_periods", "train_only_columns"} <= codes(audit)
    assert not codes(audit) & {"leaking_column", "ordered_rows", "leaking_id"}
