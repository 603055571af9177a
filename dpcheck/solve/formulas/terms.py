"""Path formulas as hash-consed terms in negation normal form.

Every path formula is written with literals (state formulas or their negations), ∧, ∨, X, until
and weak until, the latter two with an optional bound:

    F φ = true U φ,   G φ = φ W false,   φ R ψ = ψ W (φ ∧ ψ),
    ¬(φ U<=k ψ) = ¬ψ W<=k (¬φ ∧ ¬ψ),   ¬(φ W<=k ψ) = ¬ψ U<=k (¬φ ∧ ¬ψ),

where φ W<=k ψ = (φ U<=k ψ) ∨ G<=k φ; k may be ∞ (Baier & Katoen, Principles of Model Checking,
2008, §5.1.5). Equal terms are one number, so a term is compared and looked up in constant time.
Construction applies laws that keep the product with a chain small: X moves inwards over ∧ and ∨,
F F φ = F φ, F<=i F<=j φ = F<=i+j φ, F G F φ = G F φ and their duals.
"""

from __future__ import annotations

from dpcheck.records import dataclass

TRUE = 0
"""The number of the term that every path satisfies."""
FALSE = 1
"""The number of the term that no path satisfies."""


@dataclass(frozen=True)
class Constant:
    """True or false."""

    value: bool


@dataclass(frozen=True)
class Literal:
    """State formula number `state`, or its negation, of the first state of the path."""

    state: int
    positive: bool


@dataclass(frozen=True)
class Conjunction:
    """The conjunction of two or more terms, sorted."""

    parts: tuple[int, ...]


@dataclass(frozen=True)
class Disjunction:
    """The disjunction of two or more terms, sorted."""

    parts: tuple[int, ...]


@dataclass(frozen=True)
class Next:
    """X argument; the argument is neither a constant nor Boolean."""

    argument: int


@dataclass(frozen=True)
class StrongUntil:
    """left U<=bound right, bound >= 1 or None for ∞."""

    left: int
    right: int
    bound: int | None


@dataclass(frozen=True)
class WeakUntil:
    """left W<=bound right, bound >= 1 or None for ∞."""

    left: int
    right: int
    bound: int | None


Term = Constant | Literal | Conjunction | Disjunction | Next | StrongUntil | WeakUntil


class Terms:
    """A table of terms; numbers 0 and 1 are true and false, subterms come before their terms."""

    def __init__(self) -> None:
        """Start with the two constants."""
        self.table: list[Term] = [Constant(True), Constant(False)]
        self._numbers: dict[Term, int] = {term: i for i, term in enumerate(self.table)}
        self._negations: dict[int, int] = {TRUE: FALSE, FALSE: TRUE}
        self._counting: dict[int, bool] = {}

    def __getitem__(self, number: int) -> Term:
        """Return the term with this number."""
        return self.table[number]

    def _intern(self, term: Term) -> int:
        number = self._numbers.get(term)
        if number is None:
            number = self._numbers[term] = len(self.table)
            self.table.append(term)
        return number

    def literal(self, state: int, positive: bool = True) -> int:
        """Return a literal."""
        return self._intern(Literal(state, positive))

    def both(self, *parts: int) -> int:
        """Return a conjunction."""
        members = self._members(parts, Conjunction)
        if FALSE in members or any(self._negations.get(part) in members for part in members):
            return FALSE
        members.discard(TRUE)
        return self._joined_terms(members, TRUE, Conjunction)

    def either(self, *parts: int) -> int:
        """Return a disjunction."""
        members = self._members(parts, Disjunction)
        if TRUE in members or any(self._negations.get(part) in members for part in members):
            return TRUE
        members.discard(FALSE)
        return self._joined_terms(members, FALSE, Disjunction)

    def _members(self, parts: tuple[int, ...], kind: type[Conjunction | Disjunction]) -> set[int]:
        members: set[int] = set()
        for part in parts:
            term = self.table[part]
            members.update(term.parts if isinstance(term, kind) else (part,))
        return members

    def _joined_terms(
        self, members: set[int], empty: int, kind: type[Conjunction | Disjunction]
    ) -> int:
        if not members:
            return empty
        dual = Disjunction if kind is Conjunction else Conjunction
        for part in tuple(members):
            # φ ∧ (φ ∨ ψ) = φ, and dually.
            term = self.table[part]
            if isinstance(term, dual) and not members.isdisjoint(term.parts):
                members.discard(part)
        if len(members) == 1:
            return members.pop()
        return self._intern(kind(tuple(sorted(members))))

    def after(self, argument: int) -> int:
        """Return X argument."""
        match self.table[argument]:
            case Constant():
                return argument
            case Conjunction(parts):
                return self.both(*(self.after(part) for part in parts))
            case Disjunction(parts):
                return self.either(*(self.after(part) for part in parts))
            case _:
                return argument if self.is_tail(argument) else self._intern(Next(argument))

    def until(self, left: int, right: int, bound: int | None = None) -> int:
        """Return left U<=bound right."""
        if right in (TRUE, FALSE) or left in (FALSE, right) or bound == 0:
            return right
        match self.table[right]:
            case StrongUntil(inner, goal, steps) if inner == left and (
                left == TRUE or (bound is None and steps is None)
            ):
                if bound is None or steps is None:
                    return self._intern(StrongUntil(left, goal, None))
                return self._intern(StrongUntil(left, goal, bound + steps))
            case _ if left == TRUE and self.is_tail(right):
                return right
        return self._intern(StrongUntil(left, right, bound))

    def weak(self, left: int, right: int, bound: int | None = None) -> int:
        """Return left W<=bound right."""
        if right == TRUE or left == TRUE:
            return TRUE
        if left in (FALSE, right):
            return right
        if bound == 0:
            return self.either(left, right)
        if right == FALSE:
            if self.is_tail(left):
                return left
            match self.table[left]:
                case WeakUntil(inner, other, steps) if other == FALSE:
                    if bound is None or steps is None:
                        return self._intern(WeakUntil(inner, FALSE, None))
                    return self._intern(WeakUntil(inner, FALSE, bound + steps))
        return self._intern(WeakUntil(left, right, bound))

    def is_tail(self, number: int) -> bool:
        """Return whether a term is a Boolean combination of G F φ and F G φ: all suffixes agree."""
        match self.table[number]:
            case Conjunction(parts) | Disjunction(parts):
                return all(self.is_tail(part) for part in parts)
            case WeakUntil(left, right, None) if right == FALSE:
                inner = self.table[left]
                return isinstance(inner, StrongUntil) and inner.left == TRUE and not inner.bound
            case StrongUntil(left, right, None) if left == TRUE:
                inner = self.table[right]
                return isinstance(inner, WeakUntil) and inner.right == FALSE and not inner.bound
            case _:
                return False

    def negation(self, number: int) -> int:
        """Return the negation normal form of the negated term."""
        found = self._negations.get(number)
        if found is None:
            found = self._negated(number)
            self._negations[number], self._negations[found] = found, number
        return found

    def _negated(self, number: int) -> int:
        match self.table[number]:
            case Constant(value):
                return FALSE if value else TRUE
            case Literal(state, positive):
                return self.literal(state, not positive)
            case Conjunction(parts):
                return self.either(*(self.negation(part) for part in parts))
            case Disjunction(parts):
                return self.both(*(self.negation(part) for part in parts))
            case Next(argument):
                return self.after(self.negation(argument))
            case StrongUntil(left, right, bound):
                fails = self.negation(right)
                return self.weak(fails, self.both(self.negation(left), fails), bound)
            case WeakUntil(left, right, bound):
                fails = self.negation(right)
                return self.until(fails, self.both(self.negation(left), fails), bound)

    def subterms(self, number: int) -> list[int]:
        """Return the term and its subterms, each once, in increasing order."""
        found = {number}
        pending = [number]
        while pending:
            for part in self.parts(pending.pop()):
                if part not in found:
                    found.add(part)
                    pending.append(part)
        return sorted(found)

    def is_counting(self, number: int) -> bool:
        """Return whether a term has a bounded operator in it."""
        found = self._counting.get(number)
        if found is None:
            match self.table[number]:
                case StrongUntil(_, _, int()) | WeakUntil(_, _, int()):
                    found = True
                case _:
                    found = any(self.is_counting(part) for part in self.parts(number))
            self._counting[number] = found
        return found

    def parts(self, number: int) -> tuple[int, ...]:
        """Return the direct subterms."""
        match self.table[number]:
            case Constant() | Literal():
                return ()
            case Conjunction(parts) | Disjunction(parts):
                return parts
            case Next(argument):
                return (argument,)
            case StrongUntil(left, right, _) | WeakUntil(left, right, _):
                return (left, right)
