# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.diagnostics.errors import TypePromotionError as TypePromotionError
from olympus_ir.types.dtypes import bfloat16 as bfloat16
from olympus_ir.types.dtypes import canonicalize_dtype as canonicalize_dtype
from olympus_ir.types.dtypes import extended as extended
from olympus_ir.types.dtypes import float0 as float0
from olympus_ir.types.dtypes import issubdtype as issubdtype
from olympus_ir.types.dtypes import itemsize_bits as itemsize_bits
from olympus_ir.types.dtypes import prng_key as prng_key
from olympus_ir.types.dtypes import scalar_type_of as scalar_type_of
from olympus_ir.types.promotion import result_type as result_type
from olympus_numpy import finfo as finfo
from olympus_numpy import iinfo as iinfo
