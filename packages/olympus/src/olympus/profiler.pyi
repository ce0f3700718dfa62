# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.profiling.profiler import ProfileData as ProfileData
from olympus_xla.profiling.profiler import ProfileEvent as ProfileEvent
from olympus_xla.profiling.profiler import ProfileOptions as ProfileOptions
from olympus_xla.profiling.profiler import ProfilePlane as ProfilePlane
from olympus_xla.profiling.profiler import StepTraceAnnotation as StepTraceAnnotation
from olympus_xla.profiling.profiler import TraceAnnotation as TraceAnnotation
from olympus_xla.profiling.profiler import annotate_function as annotate_function
from olympus_xla.profiling.profiler import device_memory_profile as device_memory_profile
from olympus_xla.profiling.profiler import register_subprocess as register_subprocess
from olympus_xla.profiling.profiler import save_device_memory_profile as save_device_memory_profile
from olympus_xla.profiling.profiler import start_server as start_server
from olympus_xla.profiling.profiler import start_trace as start_trace
from olympus_xla.profiling.profiler import stop_server as stop_server
from olympus_xla.profiling.profiler import stop_trace as stop_trace
from olympus_xla.profiling.profiler import trace as trace
