"""Any log, read: `read_log` turns a source into what calibration needs of it."""

from headgate.calibration.reading.columns import Columns
from headgate.calibration.reading.criteo import Criteo
from headgate.calibration.reading.ednet_pseudo import EdnetPseudo
from headgate.calibration.reading.ednet_raw import EdnetRaw
from headgate.calibration.reading.read import FORMATS, Format, read_log

__all__ = ["FORMATS", "Columns", "Criteo", "EdnetPseudo", "EdnetRaw", "Format", "read_log"]
