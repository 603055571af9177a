"""Claims about endless streams and all integers: CPU seconds of one question each, in one process.

    python -m benchmarks.alignments

The median of three; each time the model is read anew.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import dpcheck

STREAMS = Path(__file__).resolve().parent.parent / "models" / "streams"
SPARSE = (STREAMS / "endless_sparse_vector.dpm").read_text("utf-8")
LEAKS = (STREAMS / "endless_leaks.dpm").read_text("utf-8")


def kept_numbers(n: int) -> str:
    """Return a stream in which each answer is compared with n noisy thresholds."""
    drawn = [f"t{j} ~ geometric(0, exp(-1/2)) unbounded" for j in range(n)]
    compared = [f"if z >= t{j} {{ output {j + 1}; stop }}" for j in range(n)]
    rounds = ["z ~ geometric(q[i], exp(-1/4)) unbounded", *compared, "output 0"]
    lines = [*drawn, "for i in 1.. {", *rounds, "}"]
    head = "input q[1..] in integers\nadjacent linf(q, q') <= 1"
    return "\n".join(["mechanism kept {", head, *lines, "}"])


QUESTIONS = [
    ("algorithm 1, c = 1", SPARSE, "algorithm_1: dp(eps)"),
    ("algorithm 1, c = 2", SPARSE, "algorithm_1(c = 2): dp(eps)"),
    ("algorithm 2, c = 2", SPARSE, "algorithm_2: dp(eps)"),
    (
        "algorithm 4, c = 1",
        SPARSE,
        "algorithm_1(threshold = exp(-eps/4), noise = exp(-3 * eps/4)): dp(7/4 * eps)",
    ),
    ("with a number", SPARSE, "numeric: dp(3/2 * eps)"),
    ("algorithm 3, violated", LEAKS, "algorithm_3: dp(ln 2)"),
    ("algorithm 5, violated", LEAKS, "algorithm_5: dp(100 * eps)"),
    ("algorithm 6, violated", LEAKS, "algorithm_6: dp(eps)"),
    *[(f"{n} kept numbers", kept_numbers(n), f"kept: dp({n + 1}/2)") for n in (4, 6, 24)],
]


def main() -> None:
    """Print a table of the questions."""
    for name, model, question in QUESTIONS:
        times = []
        for _ in range(3):
            start = time.process_time()
            [answer] = dpcheck.loads(model).ask(f"check {question}")
            times.append(time.process_time() - start)
        verdict, time_taken = answer.outcome.verdict.word, statistics.median(times)
        print(f"| {name}, `{question}` | {verdict} | {time_taken:.2f} |")


if __name__ == "__main__":
    main()
