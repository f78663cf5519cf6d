"""The theorem report: verdicts and their evidence as a model, and the forms of it that need no further library.

model     what the evidence supports, and what it does not cover
data      JSON, with a versioned schema        baseline  what changed against an earlier report.json
errata    what an author would want to know    markdown  the whole report, and a summary for a CI job page
history   which verdicts changed when
junit     JUnit XML                            weights   core statement, remark in the text or proof step
paste     Python that replays a claim          files     the writing of them all
citations how papers are named and cited       contents  which module holds which label
unicode   statements for a terminal            attempts  where derivations of refuted bounds stop

The web site (`verify.site`) is built on these, never the other way.
"""

from verify.report.data import REPORT_SCHEMA, SCHEMA_PATH, as_json, claim_json, summary_json
from verify.report.files import write
from verify.report.markdown import as_markdown, as_summary
from verify.report.model import Report, Shortfall, build, counts, quality, restricted, status_of
from verify.report.paste import paste

__all__ = [
    "REPORT_SCHEMA",
    "SCHEMA_PATH",
    "Report",
    "Shortfall",
    "as_json",
    "as_markdown",
    "as_summary",
    "build",
    "claim_json",
    "counts",
    "paste",
    "quality",
    "restricted",
    "status_of",
    "summary_json",
    "write",
]
