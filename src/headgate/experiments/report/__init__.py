"""The report: checks of the paper's claims, verdicts, and the page that shows them."""
