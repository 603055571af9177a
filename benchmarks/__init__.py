"""Whole-job timings of dpcheck beside Storm (see README.md in this folder)."""
