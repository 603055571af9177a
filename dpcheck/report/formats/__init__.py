"""Summaries of runs come in; what CI systems, code hosts and browsers read goes out."""
