"""Array type aliases for annotations."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Array32 = NDArray[np.float32]
Floats = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]
Bits = NDArray[np.int32]  # QC flags
Index = NDArray[np.int64]
