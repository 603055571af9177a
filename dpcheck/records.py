"""Dataclasses that cost nothing before they are used.

`dataclass` means what the standard library's means, and type checkers see that one. But the
standard library compiles six methods for every class when the class is made, about 0.8 ms a class;
a short check imports hundreds of classes and uses a few dozen, so that this was half of its time.
Here the fields are found when somebody asks for them, and a method is compiled when it is first
called, and shared by all classes with as many fields.

Supported are the parameters `frozen` and `eq`, and fields with any parameter but `hash` and `init`.
`fields`, `replace` and `is_dataclass` of the standard library work as always; what `field` makes
stays in the class. There is no `slots`, for which a class is made twice: one with objects by the
million says `__slots__` itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, field, fields, replace
from functools import cache
from types import CodeType, MemberDescriptorType
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True):
        """Return the class with the methods of a dataclass, each compiled on first use."""
        if cls is None:
            return lambda made: _made(made, frozen=frozen, eq=eq)
        return _made(cls, frozen=frozen, eq=eq)


__all__ = ["Frozen", "dataclass", "field", "fields", "replace"]

_IS_FIELD = vars(dataclasses)["_FIELD"]
"""The mark by which the standard library's `fields` and `replace` know a field."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Frozen:
    """A base: every class below it is a frozen dataclass, without saying so again."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init_subclass__(cls) -> None:
        """Give a new class the methods of a frozen dataclass."""
        super().__init_subclass__()
        _made(cls, frozen=True, eq=True)


def _made(cls: Any, *, frozen: bool, eq: bool) -> Any:
    own = vars(cls)
    given = {
        "__dataclass_fields__": _FIELDS,
        "__match_args__": _MATCH_ARGS,
        "__init__": _first_init,
    }
    if "__repr__" not in own:
        given["__repr__"] = _repr
    if eq and "__eq__" not in own:
        given["__eq__"] = _first_eq
    if eq and not frozen:
        given["__hash__"] = None
    elif eq and own.get("__hash__") is None:
        given["__hash__"] = _first_hash
    if frozen and cls.__setattr__ is not _refuse_to_set:
        given |= _FROZEN_METHODS
    for name, value in given.items():
        setattr(cls, name, value)
    return cls


class _Once:
    """An attribute of a class that is computed when somebody asks for it."""

    def __init__(self, name: str, value_of: Callable[[Any], Any]) -> None:
        self.name, self.value_of = name, value_of

    def __get__(self, _: object, asked: Any) -> Any:
        """Return the value, and put it in the place of this, in the class that this was given."""
        cls = next((each for each in asked.__mro__ if vars(each).get(self.name) is self), None)
        if cls is None:  # another thread was faster
            return getattr(asked, self.name)
        value = self.value_of(cls)
        setattr(cls, self.name, value)
        return value


def _fields(cls: Any) -> dict[str, Any]:
    """Return the fields by name: those of base classes, then the class's own."""
    known: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:-1]):
        if "__dataclass_fields__" in vars(base):
            known.update(base.__dataclass_fields__)
    own = vars(cls)
    for name, annotation in own.get("__annotations__", {}).items():
        text = annotation if isinstance(annotation, str) else repr(annotation)
        if text.startswith(("ClassVar", "typing.ClassVar")):
            continue
        default = own.get(name, MISSING)
        if type(default) is Field:
            made: Any = default
        else:
            is_slot = type(default) is MemberDescriptorType
            made = field() if is_slot else field(default=default)
        made.name, made.type, made._field_type = name, annotation, _IS_FIELD
        made.kw_only = made.kw_only is True
        known[name] = made
    return known


def _match_args(cls: Any) -> tuple[str, ...]:
    return tuple([name for name, f in cls.__dataclass_fields__.items() if not f.kw_only])


_FIELDS = _Once("__dataclass_fields__", _fields)
_MATCH_ARGS = _Once("__match_args__", _match_args)


def _reduced(self: Any) -> Any:
    """Return how a frozen object is pickled: as its class and the values of its fields."""
    return _restored, (type(self), tuple(getattr(self, name) for name in _names(type(self))))


def _restored(cls: Any, values: tuple[Any, ...]) -> Any:
    found = cls.__new__(cls)
    for name, value in zip(_names(cls), values, strict=True):
        object.__setattr__(found, name, value)
    return found


def _names(cls: Any) -> Any:
    return cls.__dataclass_fields__


def _refuse_to_set(_self: Any, name: str, _value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


# --- methods, compiled on first use --------------------------------------------------------


def _first(name: str, text_of: Callable[[Any, dict[str, Any]], str]) -> Any:
    """Return a method that compiles the real one, puts it in its own place, and calls it.

    It is the same for all classes; whose it is, is seen from the object that it is called for.
    """

    def first(self: Any, *args: Any, **kwargs: Any) -> Any:
        cls = next((each for each in type(self).__mro__ if vars(each).get(name) is first), None)
        if cls is None:  # somebody kept the method of a class that has its own by now
            return getattr(type(self), name)(self, *args, **kwargs)
        scope: dict[str, Any] = {"MISSING": MISSING, "put": object.__setattr__}
        exec(_code(text_of(cls, scope)), scope)
        real = scope[name]
        _fit(real, cls)
        if name == "__init__":
            _set_defaults(real, cls)
        real.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, real)
        return real(self, *args, **kwargs)

    return first


@cache
def _code(text: str) -> CodeType:
    """Return a text compiled: once for all classes that differ only in the names of their fields.

    The texts call the fields `field_0`, `field_1`, ...
    """
    return compile(text, f"<{__name__}>", "exec")


def _fit(method: Any, cls: Any) -> None:
    """Give a method the names of the fields and their defaults: 50 times faster than to compile."""
    places = _places(cls)
    named = {place: f.name for place, f in places.items()}
    code, given = method.__code__, named.get
    method.__code__ = code.replace(
        co_varnames=tuple(map(given, code.co_varnames, code.co_varnames)),
        co_names=tuple(map(given, code.co_names, code.co_names)),
        co_consts=tuple(map(given, code.co_consts, code.co_consts)),
    )


def _places(cls: Any) -> dict[str, Any]:
    """Return the fields by the names they have in texts, those that only have keywords last."""
    ordered = sorted(cls.__dataclass_fields__.values(), key=lambda f: f.kw_only)
    return {f"field_{i}": f for i, f in enumerate(ordered)}


def _init_text(cls: Any, scope: dict[str, Any]) -> str:
    given = ["self"]
    body: list[str] = []
    is_frozen = cls.__setattr__ is _refuse_to_set
    for name, f in _places(cls).items():
        value = name
        if f.kw_only and "*" not in given:
            given.append("*")
        given.append(name)
        if f.default_factory is not MISSING:
            scope[f"make_{name}"] = f.default_factory
            value = f"make_{name}() if {name} is MISSING else {name}"
        body.append(f"put(self, {name!r}, {value})" if is_frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    return f"def __init__({', '.join(given)}):\n " + "\n ".join(body or ["pass"])


def _set_defaults(init: Any, cls: Any) -> None:
    """Give the method its defaults; where a default is made anew each time, that is `MISSING`."""
    known = cls.__dataclass_fields__.values()
    defaults = [f for f in known if (f.default, f.default_factory) != (MISSING, MISSING)]
    init.__defaults__ = tuple([f.default for f in defaults if not f.kw_only])
    init.__kwdefaults__ = {f.name: f.default for f in defaults if f.kw_only}


def _repr(self: Any) -> str:
    known = type(self).__dataclass_fields__.items()
    shown = [f"{name}={getattr(self, name)!r}" for name, f in known if f.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq_text(cls: Any, _scope: dict[str, Any]) -> str:
    left, right = _tuple_text(cls, "self"), _tuple_text(cls, "other")
    return (
        "def __eq__(self, other):\n"
        " if other.__class__ is self.__class__:\n"
        f"  return {left} == {right}\n"
        " return NotImplemented"
    )


def _hash_text(cls: Any, _scope: dict[str, Any]) -> str:
    return f"def __hash__(self):\n return hash({_tuple_text(cls, 'self')})"


def _tuple_text(cls: Any, owner: str) -> str:
    compared = [name for name, f in _places(cls).items() if f.compare]
    return "(" + "".join(f"{owner}.{name}, " for name in compared) + ")"


_first_init = _first("__init__", _init_text)
_first_eq = _first("__eq__", _eq_text)
_first_hash = _first("__hash__", _hash_text)

_FROZEN_METHODS = {
    "__reduce__": _reduced,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
}
