"""`inspect`'s result as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matchfit.core.findings import Finding
    from matchfit.steps.inspect import Inspection

SHOWN = 5  # ids of a finding, names in a list
_MARKS = {"error": "!!", "warning": " !", "info": "  "}


def inspection_text(inspection: Inspection, *, all_rows: bool) -> str:
    """Sections: what it is, how decisions were reached, findings by severity, what to do next."""
    problem, competition = inspection.competition.problem, inspection.competition
    guess = (
        " (a guess from the submission's format; set competition.metric when the host says otherwise)"
        if problem.metric.guessed
        else ""
    )
    lines = [
        f"{problem.name}: {problem.modality}, {problem.task}",
        f"  items       {len(competition.train)} train, {len(competition.test)} test",
        f"  id          {_listed(problem.id_columns) or 'none: rows in the order of the test table'}",
        f"  targets     {_listed(problem.targets)}",
        *([f"  classes     {len(problem.classes)}: {_listed(problem.classes)}"] if problem.classes else []),
        f"  submission  {', '.join(problem.submission_columns[:8])}{' …' if len(problem.submission_columns) > 8 else ''} ({problem.submission_form})",
        f"  metric      {problem.metric.name}, {problem.metric.direction}{guess}",
        f"  split       {inspection.split_kind}{' by ' + ', '.join(inspection.split_by) if inspection.split_by else ''}: {inspection.split_why}",
    ]
    if problem.features:
        kinds: dict[str, list[str]] = {}
        for feature in problem.features:
            kinds.setdefault(feature.kind, []).append(feature.name)
        lines += [
            f"  {'features' if first else '        '}    {kind}: {_listed(names)}" for first, (kind, names) in _enumerated(kinds)
        ]
    if competition.train_only:
        lines.append(f"  never used  {_listed(competition.train_only)} (only train has them)")
    lines += ["", "How it was read"]
    lines += [f"  {name:<11} {text}" for name, text in competition.notes.items()]
    findings = sorted(inspection.findings, key=lambda finding: ["error", "warning", "info"].index(finding.severity))
    lines += ["", f"Findings ({len(findings)})" if findings else "Findings: none"]
    for finding in findings:
        lines += _finding(finding, all_rows=all_rows)
    kept = "kept as you edited it" if inspection.settings_kept else "written; edit it to settle a decision yourself"
    lines += ["", f"{inspection.workspace.settings}: {kept}", f"Next: matchfit train {competition.folder}"]
    return "\n".join(lines)


def _enumerated(kinds: dict[str, list[str]]) -> list[tuple[bool, tuple[str, list[str]]]]:
    return [(number == 0, item) for number, item in enumerate(kinds.items())]


def _finding(finding: Finding, *, all_rows: bool) -> list[str]:
    lines = [f"{_MARKS[finding.severity]} {finding.code}: {finding.message}"]
    if finding.rows:
        shown = finding.rows if all_rows else finding.rows[:SHOWN]
        rest = len(finding.rows) - len(shown)
        lines.append(f"     items: {', '.join(shown)}{f' and {rest} more (--all-rows)' if rest else ''}")
    if finding.todo:
        lines.append(f"     → {finding.todo}")
    return lines


def _listed(names: tuple[str, ...] | list[str]) -> str:
    rest = len(names) - 2 * SHOWN
    return ", ".join(names[: 2 * SHOWN]) + (f" and {rest} more" if rest > 0 else "")
