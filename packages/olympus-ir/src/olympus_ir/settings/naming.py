# SPDX-License-Identifier: Apache-2.0
"""Names of the library and its main module in messages.

The names are a setting, because programs written for JAX may look for the name JAX in messages.
`olympus.compat` changes the setting.
"""

from __future__ import annotations

__all__ = ["logger_name", "naming"]


class Naming:
    """The current names.

    Attributes:
      library: the name of the library in prose.
      a_library: the same name with its indefinite article.
      module: the package that users import.
    """

    __slots__ = ("a_library", "library", "module")

    def __init__(self) -> None:
        self.library, self.a_library = "OLYMPUS", "an OLYMPUS"
        self.module = "olympus"


naming = Naming()


def logger_name(subject: str) -> str:
    """Returns the name of the logger of a subject.

    The name is that of JAX's module for the subject, with ``olympus`` in place of ``jax``.

    Args:
      subject: the module, such as ``"dispatch"``, ``"compiler"`` or ``"interpreters.pxla"``.

    Example:
      >>> logger_name("dispatch")
      'olympus._src.dispatch'
    """
    return f"{naming.module}._src.{subject}"
