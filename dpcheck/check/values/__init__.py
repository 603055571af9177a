"""Exact numbers come in; verdicts, amounts and events as they are shown go out."""
