"""A check that kills its worker, among others that are done at once: workers that are interpreters import little for it."""

from __future__ import annotations

import os
import signal

from verify.checks.record import UPHELD, Record
from verify.checks.settings import Settings
from verify.evidence.cluster import Task
from verify.evidence.runner import Judgement
from verify.evidence.store import EvidenceWriter

DEADLY = "sampled float64"


def deadly(package: str, task: Task, settings: Settings, recorder: EvidenceWriter) -> tuple[Task, Record, Judgement]:
    """In the place of `verify.evidence.parallel._work`."""
    claim, check = task
    if check == DEADLY:
        os.kill(os.getpid(), signal.SIGKILL)
    record = Record(claim, check, "", UPHELD, "")
    EvidenceWriter(recorder.folder, recorder.run).append(record)
    return task, record, Judgement(True, "")
