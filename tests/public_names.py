"""The public names: at the top what most programs use, the rest in the package of its subject."""

from importlib import import_module

SUBJECTS = "client embedding evaluation exchange federation files index profiles retrieval tfidf types watch".split()
MODULES = ("septet", *(f"septet.{subject}" for subject in SUBJECTS))
#: Values by name.
PUBLIC = {name: getattr(import_module(module), name) for module in MODULES for name in import_module(module).__all__}
#: The same without the version.
NAMES = sorted(PUBLIC.keys() - {"__version__"})
