"""The walls between rooms: who may import whom, where torch may not be, how long a file may be."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "matchfit"

# A room may import the rooms listed here, and itself. `*`: anything, inside functions.
MAY_IMPORT = {
    "core": set(),
    "media": set(),
    "competition": {"core"},
    "validation": {"core", "competition"},
    "audit": {"core", "media", "competition", "validation"},
    "data": {"core", "media", "competition"},
    "modalities": {"core", "media", "competition", "data"},
    "learners": {"core", "media", "competition", "validation", "data", "modalities"},
    "settings": {"core", "competition", "validation", "learners"},
    "steps": {"*"},
    "api": {"steps"},
    "cli": {"*"},
}
# Rooms whose files never mention these packages, not even inside a function.
NEVER = {
    room: {"torch", "torchvision", "timm", "transformers"}
    for room in ("core", "media", "competition", "validation", "audit", "cli", "settings")
}
# Heavy packages are imported inside functions (or under TYPE_CHECKING) everywhere but in the rooms that are themselves imported lazily.
HEAVY = {"torch", "torchvision", "timm", "transformers", "sklearn", "scipy", "lightgbm", "tensorboard", "wandb"}
TORCH_ROOMS = ("learners/torch/", "modalities/heads.py", "modalities/image/", "modalities/text/", "data/")
MAX_LINES = 600


def _files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def _room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


# A component is handed its config by whoever builds it; it may name the config's type for the type checker alone.
TYPES_ONLY = {"modalities": {"matchfit.learners.config"}, "data": {"matchfit.learners.config"}}


def _imports(tree: ast.AST) -> list[tuple[str, bool]]:
    """(module, is it at the top level and not for type checking only) of every import."""
    lazy = {
        id(node)
        for outer in ast.walk(tree)
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef))
        or (isinstance(outer, ast.If) and "TYPE_CHECKING" in ast.dump(outer.test))
        for node in ast.walk(outer)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, id(node) not in lazy) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide which room is meant"
            names = [f"{node.module}.{alias.name}" if node.module == "matchfit" else node.module for alias in node.names]
            found += [(str(name), id(node) not in lazy) for name in names]
    return found


@pytest.mark.parametrize("path", _files(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    room = _room(path)
    if room in {"__init__", "__main__"}:
        return
    allowed = MAY_IMPORT[room]
    for module, at_top in _imports(ast.parse(path.read_text(encoding="utf-8"))):
        parts = module.split(".")
        if not at_top and module in TYPES_ONLY.get(room, set()):
            continue
        if parts[0] == "matchfit" and len(parts) > 1:
            target = parts[1]
            assert target in allowed | {room, "__version__"} or ("*" in allowed), f"{room} may not import {target}"
            if at_top and room == "cli":
                assert target in {"core", "cli", "__version__"}, f"cli imports {target} inside the verb's function only"
        assert parts[0] not in NEVER.get(room, set()), f"{room} never imports {parts[0]}"
        if at_top and not str(path.relative_to(SOURCE).as_posix()).startswith(TORCH_ROOMS):
            assert parts[0] not in HEAVY, f"{parts[0]} is imported inside functions"


def test_every_room_is_listed() -> None:
    rooms = {_room(path) for path in _files()} - {"__init__", "__main__"}
    assert rooms <= set(MAY_IMPORT)


@pytest.mark.parametrize("path", _files(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_stay_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


@pytest.mark.parametrize(
    "module",
    [
        "matchfit.cli.main",
        "matchfit.api",
        "matchfit.settings",
        "matchfit.competition.read",
        "matchfit.competition.submission",
        "matchfit.audit.audit",
    ],
)
def test_importing_stays_light(module: str) -> None:
    """No heavy package, and above all no torch, comes with the modules that fast verbs are made of."""
    code = f"import {module}, sys; print(sorted(set({sorted(HEAVY)!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
