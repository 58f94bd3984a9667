"""Facts about the machine and the versions that a figure was measured with."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


@cache
def chip() -> str:
    """The processor's name as the system gives it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def versions(*packages: str) -> dict[str, str]:
    """Installed versions, without importing anything; absent packages are left out."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@cache
def commit() -> str:
    """The commit of our own checkout (`+` when it has changes), or an empty text for an installed package."""
    here = Path(__file__).resolve().parent
    try:
        head = subprocess.run(["git", "-C", str(here), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, timeout=5)
        dirty = subprocess.run(["git", "-C", str(here), "status", "--porcelain", "-uno"], capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return ""
    return "" if head.returncode else head.stdout.strip() + ("+" if dirty.stdout.strip() else "")


def facts() -> dict[str, object]:
    """What a record says about its machine."""
    packages = ("matchfit", "torch", "timm", "transformers", "scikit-learn", "lightgbm", "polars", "numpy", "pillow")
    return {
        "chip": chip(),
        "cores": cores(),
        "python": platform.python_version(),
        "system": platform.system(),
        "versions": versions(*packages),
        "commit": commit(),
    }
