"""Claims for all values of a parameter against the same claim at one rational value: CPU seconds.

    python -m benchmarks.all_values

Each job runs in a process of its own, from the text of the model to the answer.
"""

from __future__ import annotations

import resource
import subprocess
import sys

MODEL = """
mechanism above_threshold(k, n) {
  input  q[1..k] in 0..n
  public t in 0..n
  adjacent linf(q, q') <= 1
  noisy_t ~ geometric(t, alpha^2) clamped 0..n
  for i in 1..k {
    noisy_q ~ geometric(q[i], alpha) clamped 0..n
    if noisy_q >= noisy_t { output top; stop }
    output bot
  }
}
mechanism noisy_max(m, n) {
  input q[1..m] in 0..n
  adjacent linf(q, q') <= 1
  var v[1..m] := 0
  for i in 1..m { v[i] ~ geometric(q[i], alpha) clamped 0..n }
  output argmax(i in 1..m : v[i])
}
mechanism response(k) {
  input x in {true, false}
  adjacent all
  for i in 1..k { y ~ bernoulli(if x then alpha else 1/3)  output y }
}
mechanism local(k) {
  input x[1..k] in 0..1
  adjacent hamming(x, x') <= 1
  for i in 1..k { y ~ bernoulli(if x[i] = 1 then alpha else 1 - alpha)  output y }
}
mechanism count(n) {
  input x in 0..n
  adjacent abs(x - x') <= 1
  y ~ geometric(x, alpha) clamped 0..n
  output y
}
mechanism exact_threshold(k, n) {
  input  q[1..k] in 0..n
  public t in 0..n
  adjacent linf(q, q') <= 1
  noisy_t ~ geometric(t, alpha^2) unbounded
  for i in 1..k {
    noisy_q ~ geometric(q[i], alpha) unbounded
    if noisy_q >= noisy_t { output top; stop }
    output bot
  }
}
mechanism value_of_max(m, n) {
  input q[1..m] in 0..n
  adjacent linf(q, q') <= 1
  var v[1..m] := 0
  for i in 1..m { v[i] ~ geometric(q[i], alpha) unbounded }
  output max(i in 1..m : v[i])
}
mechanism stream {
  input q[1..] in integers
  adjacent linf(q, q') <= 1
  noisy_t ~ geometric(0, alpha^2) unbounded
  for i in 1.. {
    noisy_q ~ geometric(q[i], alpha) unbounded
    if noisy_q >= noisy_t { output top; stop }
    output bot
  }
}
"""
CLAIMS = (
    "check above_threshold(k = 3, n = 5): dp(-3 * ln alpha)",
    "check above_threshold(k = 4, n = 5): dp(-4 * ln alpha)",
    "refute above_threshold(k = 4, n = 5): dp(-3 * ln alpha)",
    "check above_threshold(k = 5, n = 4): dp(-5 * ln alpha)",
    "check count(n = 50): dp(-ln alpha)",
    "check count(n = 200): dp(-ln alpha)",
    "check above_threshold(k = 4, n = 5): delta(ln 2) <= 3/4",
    "check above_threshold(k = 4, n = 5): D{-2 * ln alpha} [ F output = top ]",
    "compute above_threshold(k = 4, n = 5): epsilon",
    "compute above_threshold(k = 4, n = 5): epsilon(1/10)",
    "refute noisy_max(m = 4, n = 5): delta(ln 2) <= 1/4",
    "check noisy_max(m = 4, n = 5): delta(ln 2) <= 3/4",
    "check noisy_max(m = 4, n = 5): delta(ln 2) = 3/4",
    "compute noisy_max(m = 4, n = 5): delta(ln 2)",
    "check noisy_max(m = 4, n = 5): dp(-ln alpha, 1/10)",
    "check noisy_max(m = 4, n = 5): dp(-ln(alpha)/2)",
    "check noisy_max(m = 4, n = 5): dp(-ln(alpha)/2, 1/10)",
    "check noisy_max(m = 4, n = 5): delta(ln(2)/2) <= 3/4",
    "compute noisy_max(m = 4, n = 5): delta(ln(2)/2)",
    "compute noisy_max(m = 3, n = 4): epsilon(1/10)",
    "compute noisy_max(m = 4, n = 5): epsilon(1/10)",
    "check noisy_max(m = 4, n = 5): epsilon(1/10) >= ln 9",
    "compute noisy_max(m = 4, n = 5): epsilon",
    "check noisy_max(m = 4, n = 5): D{-4 * ln alpha} [ X output = 1 ]",
    "check noisy_max(m = 4, n = 5): D{ln 2, 1/10} [ X output = 1 ]",
    "check noisy_max(m = 4, n = 5): D{ln(2)/2, 1/10} [ X output = 1 ]",
    "check noisy_max(m = 4, n = 5): P>=1/100 [ X output = 1 ]",
    "compute local(k = 8): delta(ln 2)",
    "compute local(k = 8): epsilon(1/10)",
    "compute response(k = 20): epsilon",
    "compute response(k = 8): epsilon(1/10)",
    "check response(k = 8): epsilon(1/10) <= ln 9",
    "check exact_threshold(k = 4, n = 3): dp(-4 * ln alpha)",
    "refute exact_threshold(k = 4, n = 3): dp(-3 * ln alpha)",
    "compute exact_threshold(k = 4, n = 3): epsilon",
    "compute value_of_max(m = 3, n = 3): epsilon",
    "compute value_of_max(m = 3, n = 3): delta(ln 2)",
    "check compose(count(n = 5), 8): dp(-8 * ln alpha)",
    "compute compose(count(n = 5), 8): delta(ln 2)",
    "compute compose(response(k = 1), 8): epsilon(1/10)",
    "check compose(above_threshold(k = 3, n = 5), 4): dp(-12 * ln alpha)",
    "compute compose(above_threshold(k = 3, n = 5), 2): delta(ln 2)",
    "check stream: dp(-4 * ln alpha)",
    "refute stream: dp(-3 * ln alpha)",
    "compute stream: epsilon",
)
HEADS = ("param alpha in (0, 1)", "const alpha = 1/3")


def seconds(head: str, claim: str) -> float:
    """Return the CPU time of a check, [s], the start of the process included.

    Its status is 1 where the claim is not as it says.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "dpcheck", "check", "-", "-q"]
    text = f"{head}\n{MODEL}\n{claim}\n".encode()
    done = subprocess.run(command, input=text, stdout=subprocess.DEVNULL, check=False)
    assert done.returncode in (0, 1), "the claim is decided"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print one row a claim."""
    sys.stdout.write("| claim | all values | alpha = 1/3 | ratio |\n|---|---|---|---|\n")
    for claim in CLAIMS:
        general, single = (seconds(head, claim) for head in HEADS)
        sys.stdout.write(f"| `{claim}` | {general:.2f} | {single:.2f} | {general / single:.1f} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
