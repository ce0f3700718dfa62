# SPDX-License-Identifier: Apache-2.0
"""Lowering of olympusprs to StableHLO, one file of rules for each family of primitives."""

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
from .tables import load_rules as load_rules
from .tables import lowering_rules as lowering_rules
