# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_batching import BatchAxis as BatchAxis
from olympus_batching.dimensions import materialize as materialize
from olympus_batching.dimensions import shifted as shifted
from olympus_batching.dimensions import to_front as to_front
from olympus_batching.tracers import BatchTracer as BatchTracer
from olympus_batching.vmappables import register_vmappable as register_vmappable
from olympus_batching.vmappables import spec_types as spec_types
from olympus_batching.vmappables import unregister_vmappable as unregister_vmappable
from typing import Any
import olympus_batching.tables as tables
BatchTrace: Any
Callable: Any
Iterator: Any
Primitive: Any
Rule: Any
Sequence: Any
axis_primitive_batchers: Any
bdim_at_front: Any
broadcast: Any
defbroadcasting: Any
defreducer: Any
defvectorized: Any
fancy_primitive_batchers: Any
not_mapped: None
primitive_batchers: Any
