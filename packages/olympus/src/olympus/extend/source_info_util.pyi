# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.adapters.name_scopes import extend_name_stack as extend_name_stack
from olympus_ir.adapters.name_scopes import reset_name_stack as reset_name_stack
from olympus_ir.adapters.name_scopes import set_name_stack as set_name_stack
from olympus_ir.adapters.name_scopes import transform_name_stack as transform_name_stack
from olympus_ir.adapters.name_scopes import user_context as user_context
from olympus_ir.diagnostics.name_stacks import NameStack as NameStack
from olympus_ir.diagnostics.traceback_filtering import register_exclusion as register_exclusion
from typing import Any
SourceInfo: Any
current: Any
current_name_stack: Any
new_name_stack: Any
new_source_info: Any
summarize: Any
