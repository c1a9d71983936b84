"""`lra train` in this process. Use lra.train."""
from typing import Any, Optional

from lra import _lra

class Choice:
    seeds: str
    resume: bool
    start: str
    init_from: str
    graphs: str
    command_line: str
    def __init__(self) -> None: ...
    def set_runtime(self, json: str) -> None: ...

def train(config: _lra.Config, mixer: Optional[Any], choice: Choice, listens: bool) -> str: ...
def stopped_by() -> int: ...
