"""Our dataclasses are the standard library's: same values, same equality, same refusals."""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import FrozenInstanceError
from typing import ClassVar

import pytest

from dpcheck import records


def classes(make):
    """Return the same classes, made by one of the two decorators."""

    @make(frozen=True)
    class Point:
        """A point."""

        x: int
        y: int = 2
        hidden: object = dataclasses.field(default=None, compare=False, repr=False, kw_only=True)
        kind: ClassVar[str] = "point"

        def swapped(self):
            return dataclasses.replace(self, x=self.y, y=self.x)

    @make(frozen=True)
    class Base:
        a: int
        kind: ClassVar[str] = "base"

    @make(frozen=True)
    class Derived(Base):
        b: tuple = ()
        kind: ClassVar[str] = "derived"

        def __post_init__(self):
            object.__setattr__(self, "c", self.a + 1)

    @make()
    class Open:
        items: list = dataclasses.field(default_factory=list)

    @make(frozen=True, eq=False)
    class Identity:
        x: int

    @make(frozen=True)
    class Spoken:
        """With slots of its own."""

        __slots__ = ("x",)
        x: int

        def __repr__(self):
            return "spoken"

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 7

    return Point, Base, Derived, Open, Identity, Spoken


OURS, THEIRS = classes(records.dataclass), classes(dataclasses.dataclass)


def both(view):
    """Return what a function of the six classes gives for ours and for theirs."""
    return view(*OURS), view(*THEIRS)


@pytest.mark.parametrize(
    "view",
    [
        lambda P, B, D, O, I, S: repr(P(1, hidden=3)).split(".")[-1],
        lambda P, B, D, O, I, S: (P(1) == P(1, 2, hidden=9), P(1) == P(2), P(1) == 1),
        lambda P, B, D, O, I, S: hash(P(1)) == hash(P(1, hidden=9)),
        lambda P, B, D, O, I, S: P.__match_args__,
        lambda P, B, D, O, I, S: (P.kind, P(1).y, P(5).swapped().x),
        lambda P, B, D, O, I, S: [f.name for f in dataclasses.fields(D(1))],
        lambda P, B, D, O, I, S: (D(1).b, D(1, b=(2,)).b, D(3).c, D.kind, B(1) == D(1)),
        lambda P, B, D, O, I, S: dataclasses.replace(D(1, (2,)), a=5).b,
        lambda P, B, D, O, I, S: (O().items is O().items, O() == O(), O.__hash__),
        lambda P, B, D, O, I, S: (I(1) == I(1), len({I(1), I(1)})),
        lambda P, B, D, O, I, S: (repr(S(1)), S(1) == S(2), hash(S(3))),
        lambda P, B, D, O, I, S: D.__match_args__,
        lambda P, B, D, O, I, S: [f.name for f in dataclasses.fields(S)],
        lambda P, B, D, O, I, S: (hasattr(P(1), "__dict__"), hasattr(S(1), "__dict__")),
        lambda P, B, D, O, I, S: dataclasses.is_dataclass(P),
        lambda P, B, D, O, I, S: dataclasses.asdict(D(1)),
        lambda P, B, D, O, I, S: P.__doc__,
    ],
)
def test_ours_behave_as_theirs(view):
    ours, theirs = both(view)
    assert ours == theirs


@pytest.mark.parametrize("family", [OURS, THEIRS])
def test_frozen_means_frozen(family):
    point = family[0](1)
    with pytest.raises(FrozenInstanceError):
        point.x = 2
    with pytest.raises(FrozenInstanceError):
        del point.x


@pytest.mark.parametrize("family", [OURS, THEIRS])
def test_wrong_arguments_are_refused(family):
    point, derived = family[0], family[2]
    for call in (point, lambda: point(1, 2, 3), lambda: derived(1, z=2)):
        with pytest.raises(TypeError):
            call()


def test_classes_that_differ_in_names_only_keep_their_names():
    @records.dataclass(frozen=True)
    class Left:
        a: int
        b: int = dataclasses.field(default=2, kw_only=True)

    @records.dataclass(frozen=True)
    class Right:
        b: int
        a: int = dataclasses.field(default=3, kw_only=True)

    assert (Left(1), Right(1)) == (Left(a=1, b=2), Right(b=1, a=3))
    assert repr(Left(1)) == f"{Left.__qualname__}(a=1, b=2)"
    assert repr(Right(1)) == f"{Right.__qualname__}(b=1, a=3)"
    assert (hash(Left(1)), hash(Right(1))) == (hash((1, 2)), hash((1, 3)))
    for made, missing in ((Left, "'a'"), (Right, "'b'")):
        with pytest.raises(TypeError, match=missing):
            made()


def test_a_pattern_takes_a_record_apart():
    point = OURS[0]
    match point(1, 5):
        case point(x, y):
            assert (x, y) == (1, 5)


def test_the_signature_is_that_of_the_fields_once_used():
    OURS[0](1)
    assert list(inspect.signature(OURS[0]).parameters) == ["x", "y", "hidden"]


def test_a_base_class_made_first_does_not_lend_its_methods():
    @records.dataclass(frozen=True)
    class One:
        a: int

    @records.dataclass(frozen=True)
    class Two(One):
        b: int

    assert (One(1).a, Two(1, 2).b, One(3) == One(3), Two(1, 2) == Two(1, 3)) == (1, 2, True, False)


def test_classes_below_frozen_need_no_decorator():
    class Base(records.Frozen):
        a: int
        kind: ClassVar[str] = "base"

    class Derived(Base):
        b: tuple = ()
        kind = "derived"

    assert (Derived(1), Derived(1, (2,))) == (Derived(a=1), Derived(a=1, b=(2,)))
    assert Derived(1) != Base(1)
    assert Derived(1).kind == "derived"
    assert [f.name for f in dataclasses.fields(Derived)] == ["a", "b"]
    with pytest.raises(FrozenInstanceError):
        Derived(1).a = 2
