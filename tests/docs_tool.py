"""The generated parts of docs/: help texts between `<!-- help: VERB -->` and `<!-- /help -->`, defaults between `<!-- keys -->` marks.

usage: python tests/docs_tool.py write
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HELP = re.compile(r"(<!-- help: (?P<verb>[\w-]*) -->\n).*?(<!-- /help -->)", re.DOTALL)
CODES = re.compile(r"(<!-- codes -->\n).*?(<!-- /codes -->)", re.DOTALL)
KEYS = re.compile(r"(<!-- keys: (?P<section>\w+) -->\n).*?(<!-- /keys -->)", re.DOTALL)


def pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def help_text(verb: str) -> str:
    """What `matchfit VERB --help` prints at 100 columns."""
    environment = {**os.environ, "COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "matchfit", *([verb] if verb else []), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=60)
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def keys_table(section: str) -> str:
    """The keys of a section of matchfit.yaml with their types and defaults."""
    from matchfit.settings import Settings

    model = Settings.model_fields[section].annotation
    assert model is not None
    rows = ["| key | type | default |", "|--|--|--|"]
    for name, field in model.model_fields.items():
        kind = re.sub(r"typing\.|<class '|'>", "", str(field.annotation)).replace("|", "or").replace("NoneType", "None")
        default = field.get_default(call_default_factory=True)
        rows.append(f"| `{name}` | {kind} | `{default}` |")
    return "\n".join(rows)


def codes_table() -> str:
    """What `check` can find, with the rule behind each code."""
    from matchfit.competition.submission_faults import CODES as FAULTS

    return "\n".join(["| code | rule |", "|--|--|", *(f"| `{code}` | {rule} |" for code, rule in FAULTS.items())])


def rendered(text: str) -> str:
    """A page with its generated parts made anew."""
    text = HELP.sub(lambda match: f"{match[1]}```text\n{help_text(match['verb'])}\n```\n{match[3]}", text)
    text = CODES.sub(lambda match: f"{match[1]}{codes_table()}\n{match[2]}", text)
    return KEYS.sub(lambda match: f"{match[1]}{keys_table(match['section'])}\n{match[3]}", text)


def main() -> None:
    for page in pages():
        old = page.read_text(encoding="utf-8")
        new = rendered(old)
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(f"wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
