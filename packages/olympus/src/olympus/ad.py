# SPDX-License-Identifier: Apache-2.0
"""What `VJP.with_refs` takes and gives in place of cotangents."""

from olympus_autodiff.gradient_references import DidntWant as DidntWant
from olympus_autodiff.gradient_references import DontWant as DontWant
from olympus_autodiff.gradient_references import GradRef as GradRef
from olympus_autodiff.gradient_references import GradValue as GradValue
