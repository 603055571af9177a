"""Claims on explored chains come in; verdicts with evidence go out."""
