"""Feed mutated models and tables to dpcheck, and keep what makes it fail.

    python -m tests.fuzz --minutes 5            from a seed of the clock, which is printed
    python -m tests.fuzz --seconds 30 --seed 7

Every model, golden input and table of the repository is mutated, by bytes, by tokens and by
grafting pieces of one onto another, and goes the whole way: read, parsed, resolved, explored,
decided, and written as text and as JSON. A finding is an exception or a `Crash`, output that is no
clean text, the end of the process, or a run that the command line does not end in time either.

The work is done in a process of its own, so that a dead one is a finding too. Inputs that fail are
saved, and made smaller, in a folder that is printed (`--save`); the exit status is then 1.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from dpcheck.limits import RunLimits
from dpcheck.pipeline.options import Options
from dpcheck.pipeline.run import check_paths
from dpcheck.report.answers import summary_of
from dpcheck.report.json_output import json_text
from dpcheck.report.live import TextReport
from dpcheck.report.styled import writer
from dpcheck.report.text import closing_lines

ROOT = Path(__file__).resolve().parent.parent
OPTIONS = Options(limits=RunLimits(max_states=1_000, timeout=0.2))

SECONDS_AN_INPUT = 8.0
"""An input that takes longer is given to the command line, whose limits must end it."""

SECONDS_TO_MAKE_SMALLER = 20.0
SECONDS_OF_THE_COMMAND = 5
SECONDS_TO_START = 8.0
"""A limit is kept within 2 s of it; to start on a busy machine takes seconds, too."""

GRACE = 60.0
"""A process that begins no new input for so long is stuck in a call that no signal ends."""

ODD_BYTES = [
    *(b"\0", b"\x1b[31m", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\r", b"\x85", b"\xe2\x80\xae", b"'"),
    *(b'"', b"#", b"/*", b"(" * 300, b"[" * 30, b"{", b"}", b")", b"]", b"9" * 5000, b"1e-999"),
    *(
        "\N{ZERO WIDTH SPACE}é漢².".encode(),
        b"if ",
        b"-" * 400,
        b"((1,1),1)",
        b"exp(-1/1000000007)",
    ),
]

ODD_NUMBERS = [
    *(b"0", b"1", b"(-1)", b"(1/3)", b"(10^5000)", b"(1/10^5000)", b"(2^63)", b"(2^63 - 1)"),
    *(b"(2^64)", b"1e-30", b"exp(-1)", b"exp(-1/1000000007)", b"ln 2", b"(1, 2)", b"{1, 2}"),
]


def corpus() -> dict[str, bytes]:
    """Return the text of every model, golden input and table of the repository, by name."""
    places = [
        *ROOT.glob("models/**/*"),
        *ROOT.glob("dpcheck/std/*"),
        *ROOT.glob("tests/golden/**/*"),
    ]
    kinds = (".dpm", ".csv", ".json")
    files = [p for p in sorted(places) if p.suffix in kinds and p.is_file() and not p.is_symlink()]
    found = {str(place.relative_to(ROOT)): place.read_bytes() for place in files}
    row = b"row,x = pos,Y,3/4\nrow,x = pos,N,1/4\nrow,x = neg,Y,1/4\nrow,x = neg,N,3/4\n"
    found["survey.csv"] = row + b"pair,x = pos,x = neg\n"
    rows = {"a": {"Y": "3/4", "N": "1/4"}, "b": {"Y": "exp(-1)", "N": "1 - exp(-1)"}}
    found["survey.json"] = json.dumps({"rows": rows, "pairs": [["a", "b"]]}).encode()
    return found


# --- mutations -----------------------------------------------------------------------------


def mutated(content: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """Return a content changed in one to five ways."""
    for _ in range(chance.choice([1, 1, 1, 2, 3, 5])):
        change = chance.choice([_bytes_changed, _tokens_changed, _tokens_changed, _grafted])
        content = change(content, others, chance)
    return content[:60_000]


def _place(length: int, chance: random.Random) -> tuple[int, int]:
    """Return the ends of a mostly short piece of something so long."""
    start = chance.randint(0, length)
    return start, min(length, start + int(chance.expovariate(0.2)))


def _bytes_changed(content: bytes, _: list[bytes], chance: random.Random) -> bytes:
    start, end = _place(len(content), chance)
    inside = content[start:end]
    new = chance.choice(
        [b"", inside * 2, inside[::-1], bytes([chance.randrange(256)]), chance.choice(ODD_BYTES)]
    )
    return content[:start] + new + content[end:]


def _tokens(content: bytes) -> list[bytes]:
    return re.findall(rb"\w+|\s+|[^\w\s]", content)


def _tokens_changed(content: bytes, others: list[bytes], chance: random.Random) -> bytes:
    tokens = _tokens(content)
    start, end = _place(len(tokens), chance)
    inside = tokens[start:end]
    words = [
        token for token in _tokens(chance.choice([content, chance.choice(others)])) if token.strip()
    ]
    word = chance.choice([*(words or [b"0"]), chance.choice(ODD_NUMBERS)])
    match chance.randrange(7):
        case 0:
            inside = []
        case 1:
            inside = inside * chance.choice([2, 2, 3, 40])
        case 2:
            chance.shuffle(inside)
        case 3:
            inside = [b"(", *inside, b")"]
        case 4:
            inside = [word]
        case 5:
            numbers = [i for i, token in enumerate(tokens) if token.isdigit()]
            start = chance.choice(numbers or [0])
            inside, end = [chance.choice(ODD_NUMBERS)], start + 1
        case _:
            inside = [*inside, b" ", word, b" "]
    return b"".join([*tokens[:start], *inside, *tokens[end:]])


def _grafted(content: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """Put lines of another file among those of this one."""
    lines, more = content.splitlines(True), chance.choice(others).splitlines(True)
    here, (start, end) = chance.randint(0, len(lines)), _place(len(more), chance)
    return b"".join([*lines[:here], *more[start:end], *lines[here:]])


# --- one input -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Failure:
    """What went wrong: `kind` is equal for failures of one cause, `text` has the details."""

    kind: str
    text: str


class _TooLong(BaseException):
    """The time for one input is over."""


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    def stop(_signal: int, _frame: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def failure_of(name: str, content: bytes) -> Failure | None:
    """Return what goes wrong with a content, checked as a file so named (a table is imported)."""
    with tempfile.TemporaryDirectory(prefix="dpcheck-fuzz-") as folder:
        place = Path(folder, Path(name).name)
        place.write_bytes(content)
        if place.suffix != ".dpm":
            place = Path(folder, "main.dpm")
            stem = re.sub(r"\W", "_", Path(name).stem)
            claims = f"check {stem}: dp(ln 3)\ncompute {stem}: profile\n"
            place.write_text(f'import "{Path(name).name}"\n{claims}', "utf-8")
        try:
            with _time_limit(SECONDS_AN_INPUT):
                return _failure_of_file(str(place))
        except (_TooLong, RecursionError):
            return _failure_of_command(str(place))
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            return Failure(_cause(error), traceback.format_exc())


def _failure_of_file(path: str) -> Failure | None:
    """Return what goes wrong in the whole way from a file to both reports."""
    events, out, err = list(check_paths([path], OPTIONS)), io.StringIO(), io.StringIO()
    with closing(TextReport(writer(out), writer(err), None)) as report:
        for event in events:
            report.add(event)
    summary = summary_of(events)
    writer(out)(closing_lines(summary, 0.0))
    if summary.crashes:
        crash = summary.crashes[0].traceback
        return Failure("\n".join(crash.strip().splitlines()[-3:]), crash)
    for text in (out.getvalue() + err.getvalue(), json_text(summary)):
        wrong = sorted({char for char in text if char != "\n" and not char.isprintable()})
        if wrong:
            return Failure(f"the output is not clean: {wrong!r}", text)
        text.encode("utf-8")
    json.loads(json_text(summary))
    return None


def _failure_of_command(path: str) -> Failure | None:
    """Return what goes wrong where the limits of the command line shall end a long run."""
    limits = [
        "--timeout",
        "1",
        "--total-timeout",
        str(SECONDS_OF_THE_COMMAND),
        "--max-states",
        str(OPTIONS.limits.max_states),
    ]
    command = [sys.executable, "-m", "dpcheck", "check", path, *limits]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=SECONDS_OF_THE_COMMAND + SECONDS_TO_START,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Failure("no limit ends it", " ".join(command))
    if done.returncode in (0, 1, 2, 3):
        return None
    return Failure(f"exit {done.returncode}", done.stderr.decode("utf-8", "replace"))


def _cause(error: BaseException) -> str:
    """Return the type of an error and the innermost line it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"


def smaller(name: str, content: bytes, kind: str, split: Callable[[bytes], list[bytes]]) -> bytes:
    """Return a shorter content that fails alike: pieces are left out while that is so."""
    deadline = time.monotonic() + SECONDS_TO_MAKE_SMALLER / 2
    pieces = split(content)
    size = max(1, len(pieces) // 2)
    while time.monotonic() < deadline:
        start = 0
        while start < len(pieces) and time.monotonic() < deadline:
            fewer = pieces[:start] + pieces[start + size :]
            failure = failure_of(name, b"".join(fewer))
            if failure is not None and failure.kind == kind:
                pieces = fewer
            else:
                start += size
        if size == 1:
            break
        size //= 2
    return b"".join(pieces)


# --- many inputs ---------------------------------------------------------------------------


def inputs(seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield names and mutated contents without end, the same for the same seed."""
    chance = random.Random(seed)
    found = corpus()
    names, contents = list(found), list(found.values())
    while True:
        name = chance.choice(names)
        yield name, mutated(found[name], contents, chance)


def _work(seed: int, save: Path, seconds: float) -> None:
    """Try inputs until the time is over; `current` is always the one at work."""
    end = time.monotonic() + seconds
    kinds: set[str] = set()
    for count, (name, content) in enumerate(inputs(seed)):
        if time.monotonic() > end:
            (save / "count").write_text(f"{int((save / 'count').read_text()) + count}")
            return
        (save / "current").write_bytes(name.encode() + b"\n" + content)
        failure = failure_of(name, content)
        if failure is None or failure.kind in kinds:
            continue
        kinds.add(failure.kind)
        _keep(save, name, content, failure)


def _keep(save: Path, name: str, content: bytes, failure: Failure) -> None:
    """Save an input that fails, what it says, and a smaller one."""
    place = save / f"{len(list(save.glob('*.txt'))):03d}-{Path(name).name}"
    place.write_bytes(content)
    place.with_name(f"{place.name}.txt").write_text(
        f"{failure.kind}\n\n{failure.text}", "utf-8", "replace"
    )
    print(f"{place}: {failure.kind}", flush=True)
    if "ends it" not in failure.kind:
        lines = smaller(name, content, failure.kind, lambda text: text.splitlines(True))
        place.with_name(f"small-{place.name}").write_bytes(
            smaller(name, lines, failure.kind, _tokens)
        )


def main() -> int:
    """Fuzz for as long as asked; return 1 if anything was found."""
    parser = argparse.ArgumentParser(description="Feed mutated models and tables to dpcheck.")
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--save", type=Path, default=None, help="a folder for inputs that fail")
    given = parser.parse_args()
    save = given.save or Path(tempfile.mkdtemp(prefix="dpcheck-findings-"))
    save.mkdir(parents=True, exist_ok=True)
    (save / "count").write_text("0")
    print(f"seed {given.seed}, findings in {save}", flush=True)
    end = time.monotonic() + (60 * given.minutes + given.seconds or 60)
    seed = given.seed
    while (left := end - time.monotonic()) > 0:
        _one_process(seed, save, left)
        seed += 1_000_003
    n_found = len(list(save.glob("*.txt")))
    print(f"{(save / 'count').read_text()} inputs, {n_found} findings")
    return 1 if n_found else 0


def _one_process(seed: int, save: Path, seconds: float) -> None:
    """Work in a process until the time is over, or until it dies or is stuck, which is kept."""
    process = multiprocessing.get_context("fork").Process(target=_work, args=(seed, save, seconds))
    process.start()
    while process.is_alive():
        process.join(1.0)
        current = save / "current"
        if current.exists() and time.time() - current.stat().st_mtime > GRACE:
            process.kill()
            process.join()
    if process.exitcode:
        name, _, content = (save / "current").read_bytes().partition(b"\n")
        failure = Failure(f"the process ended with {process.exitcode}, and ends it", "")
        _keep(save, name.decode(), content, failure)


if __name__ == "__main__":
    sys.exit(main())
