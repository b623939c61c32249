"""Run every property test again and again on random examples, for some minutes: `make fuzz`, FUZZ_MINUTES=5 by default.

Each pass has a seed of its own, which is printed; `make fuzz FUZZ_SEED=n` plays that pass again. A pass is every test
that uses Hypothesis or is marked `fuzz`: of these the oracle's takes half of the minutes. The first failure ends it.
A counted number of the oracle's problems: `python -m tests.oracle.random_problems SEED FROM TO`, batches of 25.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from time import monotonic


def main() -> int:
    """Return 0 if no pass has failed."""
    minutes = os.environ.get("FUZZ_MINUTES", "5")
    end = monotonic() + 60.0 * float(minutes)
    chosen = os.environ.get("FUZZ_SEED")
    while True:
        seed = chosen or str(secrets.randbelow(2**32))
        print(f"fuzz: seed {seed}", flush=True)
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "auto", "-m", "hypothesis or fuzz", "tests"]
        done = subprocess.run(
            [*command, f"--hypothesis-seed={seed}", *sys.argv[1:]],
            env=os.environ | {"HYPOTHESIS_PROFILE": "fuzz", "FUZZ_SEED": seed, "FUZZ_MINUTES": minutes},
            check=False,
        )
        if done.returncode:
            print(f"fuzz: failed; the same again: make fuzz FUZZ_SEED={seed}")
            return done.returncode
        if chosen or monotonic() > end:
            return 0


if __name__ == "__main__":
    sys.exit(main())
