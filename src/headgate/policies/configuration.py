"""Configuration: classes whose fields are their options, frozen, refused if unknown, and shown by help()."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from functools import wraps
from typing import Any, ClassVar, dataclass_transform

import numpy as np

from headgate.errors import ParameterError

_SECTION = "Parameters\n----------\n"


@dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=False, field_specifiers=(field,))
class Configuration:
    """Makes every subclass a frozen dataclass: what it annotates are its options, given by keyword.

    An option that is missing or that the class does not have is a ParameterError that lists what there is. The
    "Parameters" section of a docstring, which must be its last, is handed down: help() of a class shows all of them.
    """

    _parameters: ClassVar[str] = ""

    def __init_subclass__(cls, *, kw_only: bool = True) -> None:
        super().__init_subclass__()
        written = "__init__" in vars(cls)
        body, _, own = inspect.cleandoc(cls.__doc__ or "").partition(_SECTION)
        dataclass(frozen=True, kw_only=kw_only, eq=False, repr=False)(cls)
        cls._parameters = f"{cls._parameters}\n{own}".strip()
        cls.__doc__ = f"{body.strip()}\n\n{_SECTION}{cls._parameters}\n"
        if not written:  # a constructor of the class's own checks for itself
            cls.__init__ = _strict(cls, cls.__init__)  # type: ignore[method-assign]  # the same signature

    def options(self) -> dict[str, Any]:
        """Return every option with its value, in the order of the constructor."""
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]  # a subclass is one

    def __repr__(self) -> str:
        """Show the options that are not at their default."""
        defaults = {f.name: f.default for f in fields(self)}  # type: ignore[arg-type]  # a subclass is one
        shown = (
            f"{name}={value.tolist() if isinstance(value, np.ndarray) else value!r}"
            for name, value in self.options().items()
            if defaults[name] is MISSING or not np.array_equal(value, np.asarray(defaults[name]))
        )
        return f"{type(self).__name__}({', '.join(shown)})"


def _strict(cls: type, init: Callable[..., None]) -> Callable[..., None]:
    """Let a constructor name the options that it lacks or does not take."""

    @wraps(init)
    def checked(self: object, *values: Any, **options: Any) -> None:
        fields_by_name = {f.name: f for f in fields(cls)}
        unknown = [name for name in options if name not in fields_by_name]
        if unknown:
            raise ParameterError(
                f"{cls.__name__} does not take {', '.join(unknown)}: its options are {', '.join(fields_by_name)}"
            )
        missing = [
            name
            for place, (name, f) in enumerate(fields_by_name.items())
            if f.default is MISSING and place >= len(values) and name not in options
        ]
        if missing:
            raise ParameterError(f"{cls.__name__} needs {', '.join(missing)}: give {'=, '.join(missing)}=")
        init(self, *values, **options)

    return checked
