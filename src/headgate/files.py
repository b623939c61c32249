"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write(path: str | Path, content: str | bytes) -> Path:
    """Put `content` (text as UTF-8) into the file `path`, and return the path.

    A reader, and a restart after a crash, find what was there before or all of the new content, never a part: it goes
    to a file beside, reaches the disk, and only then takes the name. The folder must exist; a failure leaves no trace.
    """
    target = Path(path)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as error:
        error.filename, error.filename2 = str(target), None  # what was asked for, not what it is called on the way
        raise
    finally:
        part.unlink(missing_ok=True)
    return target
