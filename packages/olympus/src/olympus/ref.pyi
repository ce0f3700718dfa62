# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.references.primitives import addupdate as addupdate
from olympus_ir.references.primitives import empty_ref as empty_ref
from olympus_ir.references.primitives import free_ref as free_ref
from olympus_ir.references.primitives import freeze as freeze
from olympus_ir.references.primitives import get as get
from olympus_ir.references.primitives import new_ref as new_ref
from olympus_ir.references.primitives import set as set
from olympus_ir.references.primitives import swap as swap
from olympus_ir.references.values import Ref as Ref
from typing import Any
AbstractRef: Any
