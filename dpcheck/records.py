"""Dataclasses that cost nothing before they are used.

`dataclass` means what the standard library's means, and type checkers see that one. But the
standard library compiles six methods for every class when the class is made, about 0.8 ms a class;
a short check imports hundreds of classes and uses a few dozen, so that this was half of its time.
Here a method is compiled when it is first called, and shared by all classes with as many fields.

Supported are the parameters `frozen`, `slots` and `eq`, and fields with any parameter but `hash`
and `init`. `fields`, `replace` and `is_dataclass` of the standard library work as always.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, field, fields, replace
from functools import cache
from types import CodeType, SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True):
        """Return the class with the methods of a dataclass, each compiled on first use."""
        if cls is None:
            return lambda made: _made(made, frozen=frozen, slots=slots, eq=eq)
        return _made(cls, frozen=frozen, slots=slots, eq=eq)


__all__ = ["dataclass", "field", "fields", "replace"]

_IS_FIELD = vars(dataclasses)["_FIELD"]
"""The mark by which the standard library's `fields` and `replace` know a field."""


def _made(cls: Any, *, frozen: bool, slots: bool, eq: bool) -> Any:
    known = _fields(cls)
    if slots:
        cls = _with_slots(cls, known)
    own = vars(cls)
    cls.__dataclass_fields__ = known
    positional = tuple(name for name, f in known.items() if not f.kw_only)
    setattr(cls, "__match_args__", positional)  # noqa: B010 - mypy guards the attribute
    cls.__init__ = _deferred(cls, "__init__", _init_text)
    if "__repr__" not in own:
        cls.__repr__ = _deferred(cls, "__repr__", _repr_text)
    if eq:
        has_own_hash = own.get("__hash__") is not None
        if "__eq__" not in own:
            cls.__eq__ = _deferred(cls, "__eq__", _eq_text)
        if not frozen:
            cls.__hash__ = None
        elif not has_own_hash:
            cls.__hash__ = _deferred(cls, "__hash__", _hash_text)
    cls.__dataclass_params__ = SimpleNamespace(frozen=frozen)
    if frozen:
        cls.__reduce__ = _reduced
        cls.__setattr__ = _refuse_to_set
        cls.__delattr__ = _refuse_to_delete
    return cls


def _fields(cls: Any) -> dict[str, Any]:
    """Return the fields by name: those of base classes, then the class's own."""
    known: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        known.update(vars(base).get("__dataclass_fields__", {}))
    for name, annotation in vars(cls).get("__annotations__", {}).items():
        text = annotation if isinstance(annotation, str) else repr(annotation)
        if text.startswith(("ClassVar", "typing.ClassVar")):
            continue
        default = vars(cls).get(name, MISSING)
        if type(default).__name__ == "Field":
            made: Any = default
            if made.default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, made.default)
        elif type(default).__name__ == "member_descriptor":
            made = field()
        else:
            made = field(default=default)
        made.name, made.type, made._field_type = name, annotation, _IS_FIELD
        made.kw_only = made.kw_only is True
        known[name] = made
    return known


def _with_slots(cls: Any, known: dict[str, Any]) -> Any:
    """Return the class made anew with slots for its fields; defaults live in the fields only."""
    inherited = {slot for base in cls.__mro__[1:] for slot in vars(base).get("__slots__", ())}
    content = {
        name: value
        for name, value in vars(cls).items()
        if name not in known and name not in ("__dict__", "__weakref__")
    }
    content["__slots__"] = tuple(name for name in known if name not in inherited)
    made = type(cls)(cls.__name__, cls.__bases__, content)
    made.__qualname__ = cls.__qualname__
    return made


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


def _deferred(cls: Any, name: str, text_of: Callable[[Any, dict[str, Any]], str]) -> Any:
    """Return a method that compiles the real one, puts it in its own place, and calls it."""

    def first(self: Any, *args: Any, **kwargs: Any) -> Any:
        scope: dict[str, Any] = {"MISSING": MISSING, "put": object.__setattr__}
        exec(_code(text_of(cls, scope)), scope)
        real = scope[name]
        _rename_fields(real, cls)
        real.__qualname__ = f"{cls.__qualname__}.{name}"
        if vars(cls).get(name) is first:
            setattr(cls, name, real)
        return real(self, *args, **kwargs)

    return first


@cache
def _code(text: str) -> CodeType:
    """Return a text compiled: once for all classes that differ only in the names of their fields.

    The texts call the fields `field_0`, `field_1`, ...
    """
    return compile(text, f"<{__name__}>", "exec")


def _rename_fields(method: Any, cls: Any) -> None:
    """Give the fields in a method their own names: 50 times faster than to compile it again."""
    named = dict(zip(_places(cls), cls.__dataclass_fields__, strict=True))
    code, given = method.__code__, named.get
    method.__code__ = code.replace(
        co_varnames=tuple(map(given, code.co_varnames, code.co_varnames)),
        co_names=tuple(map(given, code.co_names, code.co_names)),
        co_consts=tuple(map(given, code.co_consts, code.co_consts)),
    )
    if method.__kwdefaults__:
        method.__kwdefaults__ = {named[key]: v for key, v in method.__kwdefaults__.items()}


def _places(cls: Any) -> dict[str, Any]:
    """Return the fields by the names they have in texts."""
    return {f"field_{i}": f for i, f in enumerate(cls.__dataclass_fields__.values())}


def _init_text(cls: Any, scope: dict[str, Any]) -> str:
    parameters: list[str] = []
    keywords: list[str] = []
    body: list[str] = []
    for name, f in _places(cls).items():
        value = name
        if f.default is not MISSING:
            scope[f"default_{name}"] = f.default
            parameter = f"{name}=default_{name}"
        elif f.default_factory is not MISSING:
            scope[f"make_{name}"] = f.default_factory
            parameter = f"{name}=MISSING"
            value = f"make_{name}() if {name} is MISSING else {name}"
        else:
            parameter = name
        (keywords if f.kw_only else parameters).append(parameter)
        if cls.__dataclass_params__.frozen:
            body.append(f"put(self, {name!r}, {value})")
        else:
            body.append(f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    given = ["self", *parameters, *(["*", *keywords] if keywords else [])]
    return f"def __init__({', '.join(given)}):\n " + "\n ".join(body or ["pass"])


def _repr_text(cls: Any, _scope: dict[str, Any]) -> str:
    shown = [f"{f.name}={{self.{name}!r}}" for name, f in _places(cls).items() if f.repr]
    return f"def __repr__(self):\n return f'{{self.__class__.__qualname__}}({', '.join(shown)})'"


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
