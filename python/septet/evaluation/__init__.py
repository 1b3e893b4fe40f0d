"""Search quality: measures over judged queries, comparison of profiles, and weights fitted to judgements."""

from septet.evaluation.evaluator import evaluate, feedback_judgements
from septet.evaluation.judgements import Qrels, Queries
from septet.evaluation.outcomes import Comparison, Difference, Evaluation
from septet.evaluation.tuning import Tuning, tune, undo_tuning

__all__ = [
    "Comparison",
    "Difference",
    "Evaluation",
    "Qrels",
    "Queries",
    "Tuning",
    "evaluate",
    "feedback_judgements",
    "tune",
    "undo_tuning",
]
