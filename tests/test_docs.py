"""Docs are kept true: generated parts are up to date, links lead somewhere, every verb, setting and finding has its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import docs_tool
from matchfit.cli.main import VERBS

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("page", docs_tool.pages(), ids=lambda page: page.name)
def test_generated_parts_are_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert docs_tool.rendered(text) == text, "run `make docs`"


@pytest.mark.parametrize("page", docs_tool.pages(), ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_page_with_its_help(verb: str) -> None:
    assert f"<!-- help: {verb} -->" in (ROOT / "docs" / f"{verb}.md").read_text(encoding="utf-8")


def test_paths_in_prose_exist() -> None:
    """`core/errors.py` and the like, named in docs, are files of the tree."""
    for page in docs_tool.pages():
        for name in re.findall(r"`((?:[\w-]+/)+[\w-]+\.(?:py|md|txt|toml))`", page.read_text(encoding="utf-8")):
            assert (ROOT / name).exists() or (ROOT / "src" / "matchfit" / name).exists(), f"{page.name} names {name}"


def test_every_finding_is_documented() -> None:
    page = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    codes = set()
    for path in (ROOT / "src" / "matchfit").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.parent.name in {"audit", "competition"} and "Finding" in text:
            codes |= set(re.findall(r"""(?:code=|\bfind\(\s*|Finding\(\s*)"([a-z_]+)",""", text))
    assert len(codes) > 30
    assert {code for code in codes if f"`{code}`" not in page} == set()
