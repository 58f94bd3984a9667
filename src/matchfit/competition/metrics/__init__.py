"""The family of metrics: one implementation for out-of-fold scores, ablation, compression and judging."""

from matchfit.competition.metrics import labels, probabilities, ranks, regression, text
from matchfit.competition.metrics.base import METRICS, Case, Metric, Parameter, Score, better, score
from matchfit.competition.metrics.choose import get_metric, listing, metrics_for, parse_name, settle_metric, usual_metric
from matchfit.competition.metrics.user import load_metric

__all__ = [
    "METRICS",
    "Case",
    "Metric",
    "Parameter",
    "Score",
    "better",
    "get_metric",
    "labels",
    "listing",
    "load_metric",
    "metrics_for",
    "parse_name",
    "probabilities",
    "ranks",
    "regression",
    "score",
    "settle_metric",
    "text",
    "usual_metric",
]
