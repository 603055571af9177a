"""dpcheck decides, exactly, whether a randomized program is differentially private."""

__version__ = "0.1.0"
