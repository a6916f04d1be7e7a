"""The error of every file that people write: cases, clauses, parameters and the like."""


class CaseError(ValueError):
    """Raised when a case or clause file is wrong; the message names file, case and what was expected."""
