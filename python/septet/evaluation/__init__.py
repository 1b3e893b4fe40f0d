"""Search quality: measures over judged queries, comparison of profiles, and weights fitted to judgements."""

from septet.evaluation.evaluator import evaluate
from septet.evaluation.outcomes import Comparison, Difference, Evaluation
from septet.evaluation.tuning import Tuning, tune

__all__ = ["Comparison", "Difference", "Evaluation", "Tuning", "evaluate", "tune"]
