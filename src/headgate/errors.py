"""Every exception Headgate raises on purpose.

Each message names the value that was given and the rule it broke. All of them derive from
`HeadgateError`; those about a value are also `ValueError`, so that generic code catches them too.
"""


class HeadgateError(Exception):
    """The root of the tree: catch this to catch everything Headgate raises on purpose."""


class InputError(HeadgateError, ValueError):
    """A value that was given breaks a rule."""


class ParameterError(InputError):
    """A law's shape, an activation, a rate or a weight is outside its range."""


class ShapeError(InputError):
    """Arrays that must have the same number of arms, or batch axes that must broadcast, do not."""


class BudgetError(InputError):
    """A budget, or a lower or upper limit on an arm, is negative, not finite or not satisfiable."""


class AllocationError(InputError):
    """An allocation is negative, not finite or of the wrong length."""


class FeedbackError(InputError):
    """Feedback contradicts itself or the allocation it answers."""


class FeatureError(InputError):
    """Features are not those that were declared: too few, too many, not finite, a number where a category belongs."""


class UnknownArmError(InputError):
    """An arm was named that the problem does not have."""


class ProblemFileError(InputError):
    """A problem file cannot be read as a problem."""


class UnsupportedError(HeadgateError):
    """What was asked for has no answer for this law or reward, and the message says why."""


class UnregisteredError(ParameterError):
    """A law or a policy was named that this process does not know: it must be registered first."""


class PluginError(HeadgateError):
    """A law or a policy that an installed package offers cannot be loaded, and the message names it."""


class AssumptionWarning(UserWarning):
    """One of the paper's policies is used where an assumption of the paper fails: its guarantee says nothing there."""
