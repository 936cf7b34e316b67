"""What runs inside the program: a guest. Standard library only (a contract in pyproject.toml holds it to that).

Entered by `bootstrap/sitecustomize.py`, since the program's Python need not have Sonde's dependencies. What is here
serves every framework: marks, events, steps, when a profiling window opens; what knows a framework is in
`sonde.record.frameworks.NAME.inside`. A guest changes no result, raises nothing, prints nothing, and costs
about a microsecond per mark. What it sees goes to raw/PID.* in the recording's folder (`sonde.rawfolder`).
"""

import os

SONDE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep  # our own code
