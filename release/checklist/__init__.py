"""What must hold before a version is published, walked item by item. ``python -m release.checklist --help``."""
