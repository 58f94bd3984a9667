"""Families of things that a user names: metrics, models, learners, layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from matchfit.core.errors import ConfigError, nearest, sentence

Member = TypeVar("Member")


class Family(Generic[Member]):
    """Members by name, aliases understood, duplicates refused, a miss answered with the choices.

    Third-party packages add members through the entry-point group `matchfit.<plural>`; those are loaded on the first miss,
    so that a listing of our own members never imports foreign code.
    """

    def __init__(self, singular: str, plural: str) -> None:
        self.singular, self.plural = singular, plural
        self._members: dict[str, Member] = {}
        self._aliases: dict[str, str] = {}

    def add(self, name: str, member: Member, *, aliases: tuple[str, ...] = ()) -> Member:
        """Enter a member; raises ConfigError when the name or an alias is taken."""
        for key in (name, *aliases):
            if key in self._members or key in self._aliases:
                raise ConfigError(
                    f"{self.singular} {key!r}", rule="a name is entered once", found="it is taken", todo="Choose another name."
                )
        self._members[name] = member
        self._aliases.update(dict.fromkeys(aliases, name))
        return member

    def entry(self, name: str, *, aliases: tuple[str, ...] = ()) -> Callable[[Member], Member]:
        """Decorator form of `add`."""
        return lambda member: self.add(name, member, aliases=aliases)

    def get(self, name: str) -> Member:
        """The member; raises ConfigError with the nearest name."""
        key = self._aliases.get(name, name)
        if key not in self._members:
            for point in entry_points(group=f"matchfit.{self.plural}"):
                if point.name == name:
                    return self.add(name, point.load())
            raise ConfigError(
                f"{self.singular} {name!r}",
                rule=f"must be the name of a {self.singular}",
                found=f"no such {self.singular}",
                todo=sentence(nearest(name, self._members)),
            )
        return self._members[key]

    def __contains__(self, name: str) -> bool:
        return name in self._members or name in self._aliases

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._members))
