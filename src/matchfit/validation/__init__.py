"""Splits, out-of-fold tables, scores and their intervals. `folds`, `scores` and `oof` are the doors."""
