"""Pairs of exact distributions come in; privacy losses and quantities of them go out."""
