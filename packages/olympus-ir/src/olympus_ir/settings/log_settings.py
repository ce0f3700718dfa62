# SPDX-License-Identifier: Apache-2.0
"""Levels and handlers of Python's loggers, set by the flags about logs.

OLYMPUS's loggers are below ``"olympus"``, such as ``"olympus._src.compiler"``. The names are those
of JAX's loggers, with ``olympus`` in place of ``jax``. ``olympus_logging_level`` sets the level of
all of them. ``olympus_debug_log_modules`` shows all messages of some of them. Without either flag,
the application's own configuration of `logging` applies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..loading import deferred
from .config_flags import debug_log_modules, logging_level

if TYPE_CHECKING:
    import logging
else:
    logging = deferred("logging", milliseconds=4.0)

ROOT = "olympus"

# The logger of the flag `logging_level` and the handler that the flag has added; otherwise empty.
_handler_of_level: list[tuple[Any, Any]] = []
# The loggers of the flag `debug_log_modules`, the handlers that the flag has added to them, and the
# previous levels of the loggers.
_handlers_of_modules: list[tuple[Any, Any, int]] = []


def _new_handler() -> Any:
    handler = logging.StreamHandler()
    handler.setFormatter(
        logging.Formatter("{levelname}:{asctime}:{name}:{lineno}: {message}", style="{")
    )
    return handler


def _set_level(level: str | None) -> None:
    is_enabled = level not in (None, "NOTSET")
    if not is_enabled and not _handler_of_level:
        return
    logger = logging.getLogger(ROOT)
    logger.setLevel(level if is_enabled else "NOTSET")
    if is_enabled and not _handler_of_level:
        handler = _new_handler()
        logger.addHandler(handler)
        _handler_of_level.append((logger, handler))
    elif not is_enabled:
        logger.removeHandler(_handler_of_level.pop()[1])


def _show_modules(names: str | None) -> None:
    while _handlers_of_modules:
        logger, handler, level = _handlers_of_modules.pop()
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = True
    if not names:
        return
    for name in filter(None, map(str.strip, names.split(","))):
        logger, handler = logging.getLogger(name), _new_handler()
        _handlers_of_modules.append((logger, handler, logger.level))
        logger.addHandler(handler)
        logger.setLevel("DEBUG")
        # Otherwise a parent logger would show the messages a second time.
        logger.propagate = False


logging_level.add_global_hook(_set_level)
debug_log_modules.add_global_hook(_show_modules)
