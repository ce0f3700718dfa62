# SPDX-License-Identifier: Apache-2.0
"""Lowering rules, one file for each family of primitives.

The families that most programs have are imported here, the others when a program needs them.
May import the machinery of lowering, `foreign`, `arrays` and below.
"""

from . import callbacks as callbacks
from . import calls as calls
from . import collectives as collectives
from . import composites as composites
from . import contractions as contractions
from . import control_flow as control_flow
from . import elementwise as elementwise
from . import indexing as indexing
from . import random_bits as random_bits
from . import reductions as reductions
from . import shaping as shaping
from . import sorting as sorting
from . import tokens as tokens
from . import transfer as transfer
