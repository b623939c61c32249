"""From logs to problems: read, screen, add up, fit, choose a law for each arm, value allocations, and report."""

from headgate.calibration.calibration import Calibration, calibrate
from headgate.calibration.pseudo_students import TRIM, Selected, write_pseudo_students

__all__ = ["TRIM", "Calibration", "Selected", "calibrate", "write_pseudo_students"]
