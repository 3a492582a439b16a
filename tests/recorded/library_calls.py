from collections.abc import Callable, Iterator
from typing import Any
CALLS: dict[str, Callable[[], Iterator[Callable[[], Any]]]] = {}
