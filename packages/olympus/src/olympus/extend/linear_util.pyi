# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.adapters.wrapped_functions import Store as Store
from olympus_ir.adapters.wrapped_functions import StoreException as StoreException
from olympus_ir.adapters.wrapped_functions import WrappedFun as WrappedFun
from olympus_ir.adapters.wrapped_functions import cache as cache
from olympus_ir.adapters.wrapped_functions import merge_linear_aux as merge_linear_aux
from olympus_ir.adapters.wrapped_functions import transformation as transformation
from olympus_ir.adapters.wrapped_functions import transformation2 as transformation2
from olympus_ir.adapters.wrapped_functions import transformation_with_aux as transformation_with_aux
from olympus_ir.adapters.wrapped_functions import transformation_with_aux2 as transformation_with_aux2
from olympus_ir.adapters.wrapped_functions import wrap_init as wrap_init
from typing import Any
Callable: Any
