"""Paths and options come in; an event a stage, and an answer a claim, go out."""
