"""A verdict has one word, in code, at the shell, in tables of the docs, on the site and in its glossary."""

from __future__ import annotations

import json
import re
from pathlib import Path

from verify.cli.shared import COLOURS
from verify.report import SCHEMA_PATH
from verify.report.model import KINDS_OF_VERDICT, ORDER
from verify.report.wording import KIND_NAMES
from verify.site.pages import MARKS, TERM_OF
from verify.vocabulary.claims import VERDICTS

ROOT = Path(__file__).resolve().parents[1]
#: What a kind of verdict is called where the column beside it says "refuted", or need not.
SHORT = {kind: re.sub(r"refuted \((.*)\)", r"\1", kind) for kind in KINDS_OF_VERDICT}


def test_code_and_data_have_the_same_words() -> None:
    assert set(VERDICTS) == set(ORDER) == set(MARKS) == set(COLOURS) - {"title", "alarm"}
    enumerations = re.findall(r'"(?:verdict|expected)": \{"enum": (\[[^]]*\])', SCHEMA_PATH.read_text(encoding="utf-8"))
    assert enumerations and all(set(json.loads(words)) == set(VERDICTS) for words in enumerations)
    assert KIND_NAMES == SHORT == TERM_OF


def test_the_glossary_explains_each_under_its_one_word() -> None:
    text = (ROOT / "verify/site/glossary.md").read_text(encoding="utf-8").split("## Claims")[0]
    terms = re.findall(r"^- (\w+) \| ([^|]*) \|", text, flags=re.MULTILINE)
    assert all(key == word for key, word in terms)
    assert {word for _, word in terms} == {*SHORT.values(), "refuted"}


def test_tables_of_the_docs_use_them() -> None:
    (header,) = re.findall(r"^\| paper \| printed claims \| (.*) \|$", (ROOT / "README.md").read_text("utf-8"), re.M)
    assert set(header.split(" | ")) == set(KINDS_OF_VERDICT) - {"open"}
    page = (ROOT / "docs/reading-the-report.md").read_text(encoding="utf-8").split("## Verdicts")[1]
    rows = re.findall(r"^\| ([a-z]+(?: \([a-z]+\))?) \|", page.split("\n\n", maxsplit=2)[1], flags=re.MULTILINE)
    assert set(rows) - {"verdict"} == set(KINDS_OF_VERDICT)
