"""Records, errors, configuration, seeds, console and progress, workspace and ledger. Imports nothing of ours, and no torch."""
