"""matchfit: from a competition folder to a submission that the host accepts, with validation that can be trusted."""

__version__ = "0.1.0"
