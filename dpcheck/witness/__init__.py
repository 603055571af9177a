"""Claims with their outcomes come in; evidence that `dpcheck.verify` checks goes out."""

from dpcheck.witness.witness import Asking, lacking_text, witness_text

__all__ = ["Asking", "lacking_text", "witness_text"]
