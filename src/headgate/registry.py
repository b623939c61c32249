"""Classes by name: the laws and policies that files, the command line and HTTP may ask for.

A registry holds what this package brings, what `register` adds, and what installed packages offer as entry points
of its group (`headgate.laws`, `headgate.policies`). Entry points are loaded when a name is not known, or when all
names are wanted: nobody pays for plug-ins that he does not use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from inspect import isabstract
from typing import Any, ClassVar, Generic, TypeVar

from headgate.errors import HeadgateError, ParameterError, PluginError, UnregisteredError

T = TypeVar("T")


class Registry(Mapping[str, type[T]], Generic[T]):
    """Subclasses of `base` by their `name`; `kind` is what an error calls one of them.

    Parameters
    ----------
    kind
        "law" or "policy".
    group
        The entry points' group.
    base
        What every class derives from.
    classes
        The classes that are there from the beginning.
    """

    every: ClassVar[list[Registry[Any]]] = []

    def __init__(self, kind: str, group: str, base: type[Any], classes: Iterable[type[T]]) -> None:
        self.kind, self.group, self.base = kind, group, base
        self._classes: dict[str, type[T]] = {}
        self._complete = False
        for cls in classes:
            self.add(cls)
        Registry.every.append(self)

    def add(self, cls: type[Any]) -> type[T]:
        """Add a class under its `name` and return it.

        A name that another class has is refused, unless that is an earlier definition of the same class: a
        notebook's cell may run twice.
        """
        value: object = cls  # whatever the caller gave
        if not (isinstance(value, type) and issubclass(value, self.base)):
            raise ParameterError(f"a {self.kind} must be a subclass of {self.base.__name__}, got {cls!r}")
        if isabstract(cls):
            missing = ", ".join(sorted(cls.__abstractmethods__))
            raise ParameterError(f"a {self.kind} must define every abstract method, {cls.__name__} lacks {missing}")
        name = getattr(cls, "name", None)
        if not isinstance(name, str) or not name:
            raise ParameterError(f"a {self.kind} must have a name, text that is not empty, got {name!r} of {cls!r}")
        other = self._classes.get(name, cls)
        if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ParameterError(f"the name {name!r} is taken by {other!r}: {cls!r} must have another")
        self._classes[name] = cls
        return cls

    def remove(self, name: str) -> None:
        """Forget a class: for tests."""
        del self._classes[name]

    def find(self, name: object) -> type[T]:
        """Return the class of that name, or raise UnregisteredError with the names there are."""
        if isinstance(name, str) and name in self:
            return self[name]
        raise UnregisteredError(
            f"unknown {self.kind} {name!r}: it must be one of {', '.join(self)}; "
            f"a {self.kind} of your own must be given to headgate.register first"
        )

    def _load(self) -> None:
        """Add what installed packages offer."""
        if self._complete:
            return
        for point in entry_points(group=self.group):
            try:
                self.add(point.load())
            except Exception as cause:
                source = f" of {point.dist.name} {point.dist.version}" if point.dist else ""
                reason = str(cause) if isinstance(cause, HeadgateError) else repr(cause)
                raise PluginError(
                    f"the {self.kind} {point.name!r}{source} (entry point {point.value}) cannot be used: {reason}"
                ) from cause
        self._complete = True

    def __getitem__(self, name: str) -> type[T]:
        if name not in self._classes:
            self._load()
        return self._classes[name]

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(self._classes)

    def __len__(self) -> int:
        self._load()
        return len(self._classes)


C = TypeVar("C", bound=type[Any])


def register(cls: C) -> C:
    """Make a law or a policy of your own known by its `name`; returns it, so that it may decorate the class.

    Files, policies' JSON, `calibrate`, the command line and the service find it from then on. A package does the same
    for all its users with an entry point in the group `headgate.laws` or `headgate.policies`::

        @hg.register
        @dataclass(frozen=True)
        class Gompertz(hg.laws.ScaleLaw):
            ...
    """
    value: object = cls  # whatever the caller gave
    for registry in Registry.every:
        if isinstance(value, type) and issubclass(value, registry.base):
            registry.add(cls)
            return cls
    raise ParameterError(f"register takes a law or a policy: a class that derives from Law or Policy, got {cls!r}")
