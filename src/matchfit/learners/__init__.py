"""The learner interface and its members."""
