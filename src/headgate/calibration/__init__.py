"""From logs to problems: read, screen, add up, fit, choose a law for each arm, value allocations, and report."""

from headgate.calibration.calibration import Calibration, calibrate

__all__ = ["Calibration", "calibrate"]
