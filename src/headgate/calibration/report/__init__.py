"""What a calibration shows: a page, figures, and plain data."""
