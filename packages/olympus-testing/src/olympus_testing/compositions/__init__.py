# SPDX-License-Identifier: Apache-2.0
"""Random programs under random transformations, as texts that OLYMPUS and JAX both run.

`random_program` writes a program, `source` returns its text in several forms, whose results must
agree, and `shrunk` reduces a failing program.
"""

from .generation import FAMILIES as FAMILIES
from .generation import random_program as random_program
from .programs import Function as Function
from .programs import Kind as Kind
from .programs import Program as Program
from .programs import Statement as Statement
from .programs import Transformation as Transformation
from .programs import Value as Value
from .programs import source as source
from .shrinking import shrunk as shrunk
