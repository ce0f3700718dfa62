# SPDX-License-Identifier: Apache-2.0
"""Names of the library and its main module in messages.

Programs that were written for another name of the library look for that name in messages, so it is
a setting; `olympus.compat` changes it.
"""

from __future__ import annotations

__all__ = ["logger_name", "naming"]


class Naming:
    """The names in force.

    Attributes:
      library: the library, as prose names it.
      a_library: the same with its article.
      module: the package that users import.
    """

    __slots__ = ("a_library", "library", "module")

    def __init__(self) -> None:
        self.library, self.a_library = "OLYMPUS", "an OLYMPUS"
        self.module = "olympus"


naming = Naming()


def logger_name(subject: str) -> str:
    """Returns the name of the logger of a subject.

    It is the name of JAX's module for the subject, with this library's package in place of ``jax``.

    Args:
      subject: the module, such as ``"dispatch"``, ``"compiler"`` or ``"interpreters.pxla"``.

    Example:
      >>> logger_name("dispatch")
      'olympus._src.dispatch'
    """
    return f"{naming.module}._src.{subject}"
