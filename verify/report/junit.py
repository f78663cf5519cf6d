"""The report as JUnit XML: a suite per paper, a case per claim, a failure where evidence disagrees with the source."""

from __future__ import annotations

from xml.etree import ElementTree

from verify.report.model import Report, status_of
from verify.vocabulary.sections import Paper


def as_junit(report: Report) -> str:
    """The XML text.  A claim that is refuted, as its source expects, passes; its verdict is among its properties."""
    root = ElementTree.Element("testsuites", name="theorem report")
    suites = [_suite(report, paper) for paper in report.papers]
    root.extend(suites)
    for name in ("tests", "failures", "skipped"):
        root.set(name, str(sum(int(suite.attrib[name]) for suite in suites)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(report: Report, paper: Paper) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=paper.key, errors="0")
    failures = skipped = 0
    elapsed = 0.0
    chosen = [claim for claim in report.claims.values() if claim.paper.key == paper.key]
    for claim in chosen:
        verdict, records = report.verdicts[claim.id], report.records_of[claim.id]
        seconds = sum(record.duration for record in records)
        elapsed += seconds
        case = ElementTree.SubElement(suite, "testcase", classname=paper.key, name=claim.id, time=f"{seconds:.3f}")
        properties = ElementTree.SubElement(case, "properties")
        facts = {"label": claim.label, "verdict": status_of(verdict), "grade": verdict.grade, "why": verdict.why}
        for name, value in facts.items():
            ElementTree.SubElement(properties, "property", name=name, value=_printable(value or ""))
        if not records or claim.id in report.released:
            skipped += 1
            why = "as released, not checked again here" if records else verdict.why
            ElementTree.SubElement(case, "skipped", message=_printable(why))
        elif verdict.status != claim.expects:
            failures += 1
            message = f"expected {claim.expects}, evidence says {verdict.status}"
            ElementTree.SubElement(case, "failure", message=message).text = _printable(verdict.why)
    suite.set("tests", str(len(chosen)))
    suite.set("failures", str(failures))
    suite.set("skipped", str(skipped))
    suite.set("time", f"{elapsed:.3f}")
    return suite


def _printable(text: str) -> str:
    """Without the control characters that XML 1.0 forbids, which tracebacks may hold."""
    return "".join(c for c in text if c in "\t\n" or (c >= " " and not "\ud800" <= c <= "\udfff" and c < "\ufffe"))
