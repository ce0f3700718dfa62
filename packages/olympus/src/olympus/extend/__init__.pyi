# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from . import backend as backend
from . import core as core
from . import ffi as ffi
from . import ifrt_programs as ifrt_programs
from . import linear_util as linear_util
from . import lowering as lowering
from . import mlir as mlir
from . import pallas as pallas
from . import random as random
from . import sharding as sharding
from . import source_info_util as source_info_util
from . import xla as xla
