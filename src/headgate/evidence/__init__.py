"""Evidence: what has been seen of each arm, in a form that only ever adds up.

`histograms` is the evidence itself; `plain` its one form as plain data, for files, the API and backups.
"""

from headgate.evidence.histograms import Evidence, bin_edges

__all__ = ["Evidence", "bin_edges"]
