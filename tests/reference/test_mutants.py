"""What replay derives of forged witnesses is true of the model, as the engine is asked about it."""

from __future__ import annotations

import copy
import json
import random
import re
from fractions import Fraction
from pathlib import Path

import pytest

import dpcheck
from dpcheck.cli import run
from dpcheck.exact import excess_sign, number
from dpcheck.reference import Contradicted, NotCovered, Replay, WrongProgram, load
from dpcheck.verify import verify
from tests.chains import chain_rows
from tests.witness.test_witness import CLAIMS, MODEL, chance, leaves, mutated, one_by_one, signed

VIOLATED = [
    claim
    for claim, (says, proof) in CLAIMS.items()
    if says == "violated" and proof != "sum" and not claim.startswith(("noise", "group"))
]
MUTANTS = 200


@pytest.fixture(scope="module")
def witnesses(tmp_path_factory):
    """Return the model, and the fields of a witness of each claim in it."""
    place = tmp_path_factory.mktemp("mutants")
    (place / "m.dpm").write_text(MODEL + "".join(f"refute {c}\n" for c in VIOLATED), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert run(["check", "m.dpm", "-q", "--witness", "w"]) == 0
        files = sorted(place.glob("w/*"), key=lambda file: int(file.stem.split("-")[1]))
        yield dpcheck.load("m.dpm"), [json.loads(file.read_text("utf-8")) for file in files]


def mutant(fields, every, random_):
    """Return a witness with one to three changes: other values, or those of other witnesses."""
    fields = copy.deepcopy(fields)
    del fields["digest"]
    for _ in range(random_.randint(1, 3)):
        places = [place for place, _ in leaves(fields) if place[0] not in ("format", "sha256")]
        *way, last = random_.choice(places)
        inner = fields
        for key in way:
            inner = inner[key]
        others = [v for other in every for place, v in leaves(other) if place[-1] == last]
        inner[last] = random_.choice([mutated(inner[last], random_), *others[:40]])
    if fields["proof"] == "event" and random_.random() < 0.7:
        try:  # a forger who changes rows writes the chances that they have
            for side in fields["sides"]:
                event = one_by_one(fields["event"])
                chances = [chance(fields, side["state"], shown) for shown in event]
                side["probability"] = str(Fraction(sum(chances)))
        except (LookupError, TypeError, ValueError, ArithmeticError):
            pass
    return fields


def false_because(model, fields):
    """Return why a witness is not true of a model, as the engine sees it; None if it is."""
    claim, names = fields["claim"], [side["input"] for side in fields["sides"]]
    wanted = [Fraction(side["probability"]) for side in fields["sides"]]
    asked = f"check {claim['target']}: {claim['text']}"
    if model.ask(asked)[0].is_ok:
        return "the claim holds"
    chain = model.target(claim["target"]).chain()
    states = [next(s for s in range(chain.n_states) if chain.state_text(s) == n) for n in names]
    pairs = {frozenset(pair) for pair in chain.neighbors.pairs.tolist()}
    if len(states) == 2 and frozenset(states) not in pairs:
        return "no neighbors"
    if fields["proof"] == "path":
        paths = re.findall(r"[PD][^\[]*\[ (.*?) \]", claim["text"].replace("in [1/10, 1/4]", ""))
        chances = [
            [model.target(claim["target"]).value(f"P=? [ {path} ]", at=name) for name in names]
            for path in paths
        ]
        return None if wanted in [[Fraction(p.exact) for p in row] for row in chances] else chances
    event = [tuple(each) for each in one_by_one(fields["event"])]
    rows = chain_rows(chain, max(map(len, event)))
    found = []
    for state in states:
        row = rows[chain.initial.tolist().index(state)]
        begun = [
            ((*outputs, {"stopped": None}.get(end, end)), p) for (outputs, end), p in row.items()
        ]
        found.append(sum(p for shown, p in begun if any(shown[: len(e)] == e for e in event)))
    asked = model.resolved_question(asked).claim
    p, q = (number(x.numerator, x.denominator) for x in map(Fraction, found))
    exceeds = excess_sign(p, q, asked.epsilon, asked.delta) > 0
    return None if found == wanted and exceeds else f"chances {found}, {exceeds}"


def test_what_replay_derives_of_a_mutant_is_true(witnesses, monkeypatch):
    model, every = witnesses
    loaded = load(Path("m.dpm"), Path.cwd())
    random_, n_derived, known = random.Random(17), 0, {}
    for fields in every:
        for _ in range(MUTANTS):
            forged = mutant(fields, every, random_)
            if verify(signed(forged))[0]:
                continue
            try:
                Replay(loaded, forged).derived()
            except (Contradicted, NotCovered, WrongProgram, LookupError, TypeError, AttributeError):
                continue
            n_derived += 1
            said = json.dumps([forged[key] for key in ("claim", "sides")] + [forged.get("event")])
            if said not in known:
                known[said] = false_because(model, forged)
            assert known[said] is None, (known[said], forged)
    assert n_derived > 40
    assert len(known) > len(every)
