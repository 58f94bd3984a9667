"""Measurements. Each script prints ratios within one run and appends JSON lines to results.jsonl."""
