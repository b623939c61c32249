"""Evidence: what has been seen of each arm, in a form that only ever adds up.

`histograms` is the evidence itself; `plain` its one form as plain data, for files, the API and backups; `budgets` keeps
budgets in it, of which nobody knows the next; `fading` weighs what was recorded in windows of time.
"""

from headgate.evidence.budgets import budget_law, record_budget
from headgate.evidence.histograms import Evidence, bin_edges

__all__ = ["Evidence", "bin_edges", "budget_law", "record_budget"]
