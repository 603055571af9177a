"""Analysts, beliefs, endless outputs, expectations: CPU seconds of a question, in one process.

    python -m benchmarks.analysts

The median of three; each time the model is read anew, and building its chain is timed.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import dpcheck

MODELS = Path(__file__).resolve().parent.parent / "models"

RUIN = """
mechanism ruin(n = 1000) {
  input x in 0..n
  adjacent abs(x - x') <= 1
  s := x
  while s > 0 & s < n {
    b ~ bernoulli(2/5)
    s := if b then s + 1 else s - 1
    output if b then up else down
  }
}
"""

RARE = """
mechanism waits {
  input x in 0..1
  adjacent all
  while true {
    y ~ geometric(x, 1/50) unbounded
    if y > 3 { output y stop }
    output wait
  }
}
"""

ANALYSTS = MODELS / "analysts" / "adaptive.dpm"
FLU = MODELS / "secrets" / "flu.dpm"
ENDLESS = MODELS / "streams" / "endless_outputs.dpm"
QUESTIONS = [
    ("12 rounds of three questions, adaptive", ANALYSTS, "chosen_accuracy(k = 12)", "delta(ln 2)"),
    ("12 rounds of three questions, adaptive", ANALYSTS, "chosen_accuracy(k = 12)", "profile"),
    (
        "above threshold, 12 adaptive rounds",
        ANALYSTS,
        "adaptive_above_threshold(k = 12)",
        "delta(ln 2)",
    ),
    (
        "above threshold, 12 adaptive rounds",
        ANALYSTS,
        "adaptive_above_threshold(k = 12)",
        "epsilon",
    ),
    ("6 rounds of three questions, fixed", ANALYSTS, "fixed_accuracy(k = 6)", "delta(ln 2)"),
    (
        "4 rounds, what comes after any answer",
        ANALYSTS,
        "fixed_accuracy(k = 4)",
        "P>=1 [ X P<=3/4 [ X output = x ] ]",
    ),
    (
        "fixed queries without an end",
        ANALYSTS,
        "accuracy_for_ever",
        "D{ln 9} [ X (output = 1 & X output = 1) ]",
    ),
    ("a household of 60, who believes", FLU, "contagious(n = 60)", "epsilon"),
    ("a stream without an end, 6 thresholds", ENDLESS, "stream(n = 5)", "delta(1)"),
    ("the same, any query in each round", ENDLESS, "online", "delta(1) <= 74/100"),
    ("40 answers, then coins for ever", ENDLESS, "until_spent(k = 40)", "epsilon"),
    ("a rate that differs by a thousandth", ENDLESS, "waits(other = 101/1000)", "epsilon <= 2"),
    ("an end after 127,500 rounds, or more", RARE, "waits", "delta(ln 2) <= 9/10"),
    ("ruin on 0..1000, 1,001 inputs", RUIN, "ruin", "E<=5000 [ outputs ]"),
]


def seconds(model: str, target: str, question: str) -> float:
    """Return the CPU seconds of one question about a model's text."""
    verb = "check" if "<=" in question or "D{" in question else "compute"
    start = time.process_time()
    dpcheck.loads(model).ask(f"{verb} {target}: {question}")
    return time.process_time() - start


def main() -> None:
    """Print the table."""
    print("| system | question | CPU s |\n|---|---|---|")
    for name, model, target, question in QUESTIONS:
        text = model if isinstance(model, str) else model.read_text("utf-8")
        taken = statistics.median(seconds(text, target, question) for _ in range(3))
        print(f"| {name} | `{target}: {question}` | {taken:.2f} |")


if __name__ == "__main__":
    main()
