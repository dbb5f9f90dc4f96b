"""The API's description as JSON on standard output, without a server.

python .ci/openapi.py
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from pc2dae.web.app import create_app
from pc2dae.web.settings import Settings

with tempfile.TemporaryDirectory() as folder:
    app: Any = create_app(Settings(data=Path(folder))).app
    print(json.dumps(app.openapi()))
