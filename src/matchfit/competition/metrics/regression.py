"""Metrics of values. With several columns a plain name pools all entries; the `mc…` names and the correlations take the mean over columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from matchfit.competition.metrics.base import METRICS, VALUE_TASKS, Case, Direction, Metric, Parameter

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


def _column_means(case: Case, values_NK: Floats) -> Floats:
    """(K,) weighted means."""
    weights = case.weights_N
    return np.asarray(values_NK.mean(axis=0) if weights is None else weights @ values_NK / weights.sum(), dtype=np.float64)


def _squares(case: Case) -> Floats:
    truth_NK, predicted_NK = case.pair()
    return _column_means(case, (truth_NK - predicted_NK) ** 2)


def _log_squares(case: Case) -> Floats:
    truth_NK, predicted_NK = case.pair()
    for what, values in (("truth", truth_NK), ("predictions", predicted_NK)):
        if (values < 0).any():
            count = int((values < 0).any(axis=1).sum())
            raise case.undefined(
                f"a negative value in the {what}", f"{count} of {len(values)} items", "Clip the predictions at 0, or choose rmse."
            )
    return _column_means(case, (np.log1p(truth_NK) - np.log1p(predicted_NK)) ** 2)


def _absolutes(case: Case) -> Floats:
    truth_NK, predicted_NK = case.pair()
    return _column_means(case, np.abs(truth_NK - predicted_NK))


def _mse(case: Case) -> float:
    """Mean squared error."""
    return float(_squares(case).mean())


def _rmse(case: Case) -> float:
    """Root of the mean squared error of all entries."""
    return float(np.sqrt(_squares(case).mean()))


def _mcrmse(case: Case) -> float:
    """Mean over columns of each column's root mean squared error."""
    return float(np.sqrt(_squares(case)).mean())


def _rmsle(case: Case) -> float:
    """Root mean squared error of log(1 + value); negative values are refused."""
    return float(np.sqrt(_log_squares(case).mean()))


def _mcrmsle(case: Case) -> float:
    """Mean over columns of each column's RMSLE."""
    return float(np.sqrt(_log_squares(case)).mean())


def _mae(case: Case) -> float:
    """Mean absolute error; pooled and mean over columns are one number."""
    return float(_absolutes(case).mean())


def _median_ae(case: Case) -> float:
    """Median absolute error of all entries."""
    truth_NK, predicted_NK = case.pair()
    return float(np.median(np.abs(truth_NK - predicted_NK)))


def _mape(case: Case) -> float:
    """Mean of |truth - prediction| / |truth|, as a fraction."""
    truth_NK, predicted_NK = case.pair()
    if (truth_NK == 0).any():
        raise case.undefined("a true value is zero", f"{int((truth_NK == 0).any(axis=1).sum())} items", "Choose smape or mae.")
    return case.mean((np.abs(truth_NK - predicted_NK) / np.abs(truth_NK)).mean(axis=1))


def _smape(case: Case) -> float:
    """Mean of 200 |truth - prediction| / (|truth| + |prediction|), in percent, 0 / 0 being 0 (Kaggle's form, 0 to 200)."""
    truth_NK, predicted_NK = case.pair()
    size_NK = np.abs(truth_NK) + np.abs(predicted_NK)
    parts_NK = np.divide(np.abs(truth_NK - predicted_NK), size_NK, out=np.zeros_like(size_NK), where=size_NK > 0)
    return 200 * case.mean(parts_NK.mean(axis=1))


def _r2(case: Case) -> float:
    """1 - squared error / squared spread of the truth; mean over columns."""
    truth_NK, _ = case.pair()
    spread_K = _column_means(case, (truth_NK - _column_means(case, truth_NK)) ** 2)
    if not (spread_K > 0).all():
        raise case.undefined("a true column is constant", f"column {int(np.argmin(spread_K)) + 1}")
    return float((1 - _squares(case) / spread_K).mean())


def _correlation(case: Case, truth_NK: Floats, predicted_NK: Floats) -> float:
    """Mean over columns of the (weighted) linear correlation; a constant column has none."""
    for what, values in (("truth", truth_NK), ("predictions", predicted_NK)):
        constant = np.flatnonzero((values == values[0]).all(axis=0))
        if len(constant):
            raise case.undefined(f"a constant column in the {what}", f"column {constant[0] + 1}")
    truth_NK, predicted_NK = truth_NK - _column_means(case, truth_NK), predicted_NK - _column_means(case, predicted_NK)
    spread_K = np.sqrt(_column_means(case, truth_NK**2)) * np.sqrt(_column_means(case, predicted_NK**2))
    return float(np.clip(_column_means(case, truth_NK * predicted_NK) / spread_K, -1.0, 1.0).mean())


def _pearson(case: Case) -> float:
    """Pearson correlation; mean over columns."""
    return _correlation(case, *case.pair())


def _spearman(case: Case) -> float:
    """Spearman correlation: Pearson of average ranks; mean over columns."""
    from scipy.stats import rankdata

    truth_NK, predicted_NK = case.pair()
    return _correlation(case, np.asarray(rankdata(truth_NK, axis=0)), np.asarray(rankdata(predicted_NK, axis=0)))


def _kendall(case: Case) -> float:
    """Kendall's tau-b; mean over columns."""
    from scipy.stats import kendalltau

    truth_NK, predicted_NK = case.pair()
    taus = [float(kendalltau(truth_NK[:, k], predicted_NK[:, k]).statistic) for k in range(truth_NK.shape[1])]
    if np.isnan(taus).any():
        raise case.undefined("a constant column", f"column {int(np.isnan(taus).argmax()) + 1}")
    return float(np.mean(taus))


def _pinball(case: Case) -> float:
    """Quantile loss: mean of a d where the truth is above the prediction by d, (1 - a) d where it is below."""
    truth_NK, predicted_NK = case.pair()
    above_NK = truth_NK - predicted_NK
    return float(_column_means(case, np.maximum(case.number * above_NK, (case.number - 1) * above_NK)).mean())


def _laplace_log_likelihood(case: Case) -> float:
    """Modified Laplace log likelihood (OSIC): mean of -√2 d / s - ln(√2 s), d = min(|error|, 1000), s = max(sigma, 70).

    Predictions have two columns, the value and its sigma; or one, and sigma is the parameter (`laplace_log_likelihood@200`).
    """
    truth_NK, scores_NK = case.true_values(), case.scores_NK
    if truth_NK.shape[1] != 1 or scores_NK.shape[1] > 2 or (scores_NK.shape[1] == 1 and case.value is None):
        raise case.undefined(
            "it needs a value and its sigma", f"{scores_NK.shape[1]} columns", "Give sigma: laplace_log_likelihood@200."
        )
    sigma_N = scores_NK[:, 1] if scores_NK.shape[1] == 2 else np.full(len(scores_NK), case.number)
    sigma_N = np.maximum(sigma_N, 70.0)
    error_N = np.minimum(np.abs(truth_NK[:, 0] - scores_NK[:, 0]), 1000.0)
    return case.mean(-np.sqrt(2) * error_N / sigma_N - np.log(np.sqrt(2) * sigma_N))


def _add(
    name: str,
    compute: Callable[[Case], float],
    aliases: tuple[str, ...] = (),
    *,
    direction: Direction = "minimize",
    low: float = 0.0,
    high: float = np.inf,
    tasks: tuple[str, ...] = VALUE_TASKS,
    parameter: Parameter | None = None,
    weighted: bool = True,
) -> None:
    METRICS.add(
        name,
        Metric(
            name=name,
            direction=direction,
            needs="values",
            tasks=tasks,
            compute=compute,
            range=(low, high),
            parameter=parameter,
            weighted=weighted,
        ),
        aliases=aliases,
    )


_correlated = partial(_add, direction="maximize", low=-1.0, high=1.0)
_add("mse", _mse, ("mean_squared_error",))
_add("rmse", _rmse, ("root_mean_squared_error",))
_add("mcrmse", _mcrmse, ("mean_columnwise_rmse", "column_mean_rmse"))
_add("rmsle", _rmsle, ("root_mean_squared_log_error", "root_mean_squared_logarithmic_error"))
_add("mcrmsle", _mcrmsle, ("mean_columnwise_rmsle", "column_mean_rmsle"))
_add("mae", _mae, ("mean_absolute_error", "l1"))
_add("mcmae", _mae, ("mean_columnwise_mae", "column_mean_mae"))
_add("median_ae", _median_ae, ("medae", "median_absolute_error"), weighted=False)
_add("mape", _mape, ("mean_absolute_percentage_error",))
_add("smape", _smape, ("symmetric_mape", "symmetric_mean_absolute_percentage_error"), high=200.0)
_add("r2", _r2, ("r2_score", "r_squared"), direction="maximize", low=-np.inf, high=1.0)
_correlated("pearson", _pearson, ("pearsonr", "pearson_correlation", "correlation"))
_correlated(
    "spearman", _spearman, ("spearmanr", "spearman_correlation", "mean_columnwise_spearman", "column_mean_spearman"), weighted=False
)
_correlated("kendall", _kendall, ("kendall_tau", "kendalltau"), weighted=False)
_add(
    "pinball", _pinball, ("quantile_loss", "pinball_loss"), parameter=Parameter(name="the quantile", default=0.5, low=0.0, high=1.0)
)
_add(
    "laplace_log_likelihood",
    _laplace_log_likelihood,
    ("modified_laplace_log_likelihood", "laplace"),
    direction="maximize",
    low=-np.inf,
    high=float(-np.log(np.sqrt(2) * 70)),
    tasks=("regression",),
    parameter=Parameter(name="sigma", low=70.0, high=1e9),
)
