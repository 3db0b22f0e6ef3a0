"""A property that is computed once, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class lazy_property(Generic[Value]):  # noqa: N801 - used like functools.cached_property
    """A cached property that two threads may compute at the same time.

    Before Python 3.12, `functools.cached_property` holds one lock for all instances of the class
    while it computes. A fit that waits for a cluster with this lock blocks the other fits of its
    process. If those fits occupy the threads of a worker, the cluster cannot finish the tasks that
    the first fit waits for.
    """

    def __init__(self, compute_value: Callable[[Any], Value]) -> None:
        self.compute_value = compute_value
        self.__doc__ = compute_value.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy_property[Value]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> Value | lazy_property[Value]:
        if instance is None:
            return self
        value = vars(instance)[self.name] = self.compute_value(instance)
        return value
