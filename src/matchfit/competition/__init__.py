"""From a folder as the host ships it to a `Competition`: tables, layouts, items, targets, metrics, submission rules."""
