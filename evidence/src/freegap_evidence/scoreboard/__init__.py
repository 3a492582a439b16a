"""Mechanisms of other libraries, as pip installs them, audited at their claims."""

from freegap_evidence.scoreboard.page import page
from freegap_evidence.scoreboard.run import run
from freegap_evidence.scoreboard.subjects import SUBJECTS, Subject

__all__ = ["SUBJECTS", "Subject", "page", "run"]
