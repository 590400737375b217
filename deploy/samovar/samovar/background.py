"""Runs asynchronous work to its end from ordinary code."""

import asyncio
import errno
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a loop of its own and return its result."""
    return run_blocking(lambda: asyncio.run(work))


def run_blocking(work: Callable[[], T]) -> T:
    """Run a function that may start a loop, in a thread of its own, and return its result.

    The thread keeps the loop of the caller (a test's, for one) untouched.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def body() -> None:
        try:
            results.append(work())
        except BaseException as error:  # handed to the caller below
            errors.append(error)

    thread = threading.Thread(target=body, name="samovar-background", daemon=True)
    try:
        thread.start()
    except RuntimeError as error:  # the system's limit of threads, or its memory
        raise OSError(errno.EAGAIN, str(error)) from None
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
