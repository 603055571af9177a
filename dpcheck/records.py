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
from dataclasses import MISSING, Field, FrozenInstanceError, field, fields, replace
from functools import cache
from types import CodeType, MemberDescriptorType, SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True):
        """Return the class with the methods of a dataclass, each compiled on first use."""
        if cls is None:
            return lambda made: _made(made, frozen=frozen, slots=slots, eq=eq)
        return _made(cls, frozen=frozen, slots=slots, eq=eq)


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
        _made(cls, frozen=True, slots=False, eq=True)


def _made(cls: Any, *, frozen: bool, slots: bool, eq: bool) -> Any:
    known = _fields(cls)
    own = vars(cls)
    given = {
        "__dataclass_fields__": known,
        "__dataclass_params__": _FROZEN if frozen else _OPEN,
        "__match_args__": tuple([name for name, f in known.items() if not f.kw_only]),
        "__init__": _first_init,
    }
    if "__repr__" not in own:
        given["__repr__"] = _first_repr
    if eq and "__eq__" not in own:
        given["__eq__"] = _first_eq
    if eq and not frozen:
        given["__hash__"] = None
    elif eq and own.get("__hash__") is None:
        given["__hash__"] = _first_hash
    if frozen:
        given |= _FROZEN_METHODS
    if slots:
        return _with_slots(cls, known, given)
    for name, value in given.items():
        setattr(cls, name, value)
    return cls


_FROZEN, _OPEN = SimpleNamespace(frozen=True), SimpleNamespace(frozen=False)


def _fields(cls: Any) -> dict[str, Any]:
    """Return the fields by name: those of base classes, then the class's own."""
    known: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:-1]):
        known.update(vars(base).get("__dataclass_fields__", {}))
    own = vars(cls)
    for name, annotation in own.get("__annotations__", {}).items():
        text = annotation if isinstance(annotation, str) else repr(annotation)
        if text.startswith(("ClassVar", "typing.ClassVar")):
            continue
        default = own.get(name, MISSING)
        if default is MISSING or type(default) is MemberDescriptorType:
            made: Any = field()
        elif type(default) is Field:
            made = default
            if made.default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, made.default)
        else:
            made = field(default=default)
        made.name, made.type, made._field_type = name, annotation, _IS_FIELD
        made.kw_only = made.kw_only is True
        known[name] = made
    return known


def _with_slots(cls: Any, known: dict[str, Any], given: dict[str, Any]) -> Any:
    """Return the class made anew with slots for its fields; defaults live in the fields only.

    All else that is `given` is there when it is made: to set a method later costs as much again.
    """
    inherited = {slot for base in cls.__mro__[1:] for slot in vars(base).get("__slots__", ())}
    content = {name: value for name, value in vars(cls).items() if name not in known}
    content.pop("__dict__", None)
    content.pop("__weakref__", None)
    content |= given
    content["__slots__"] = tuple([name for name in known if name not in inherited])
    content["__qualname__"] = cls.__qualname__
    return type(cls)(cls.__name__, cls.__bases__, content)


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
        _rename_fields(real, cls)
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


_first_init = _first("__init__", _init_text)
_first_repr = _first("__repr__", _repr_text)
_first_eq = _first("__eq__", _eq_text)
_first_hash = _first("__hash__", _hash_text)

_FROZEN_METHODS = {
    "__reduce__": _reduced,
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
}
