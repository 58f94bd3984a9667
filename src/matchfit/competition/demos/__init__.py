"""Built-in competitions from data that a declared dependency ships, written as a host would ship them."""

from matchfit.competition.demos.writers import DEMOS, Demo, write_demo

__all__ = ["DEMOS", "Demo", "write_demo"]
