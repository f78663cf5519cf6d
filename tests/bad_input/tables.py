"""Files that are refused: tables of implementations in pyproject.toml, and baselines of reports."""

from __future__ import annotations

from typing import Any

ENTRY = '[tool.verify.subjects]\n"hessian.attention" = '
PLACE = "tool.verify.subjects.hessian.attention"
RIGHT = 'implementation = "bi_layers:right"'

#: Texts of pyproject.toml, each with what `verify check` then says.
TABLES: list[tuple[str, str]] = [
    ("[tool", "pyproject.toml: expected "),
    ("a = ", "pyproject.toml: expected "),
    ('[tool.verify.subjects]\na = "m:f"\na = "m:g"\n', "pyproject.toml: expected "),
    ("a = " + "[" * 100_000, "pyproject.toml: expected "),
    ("\udcff", "pyproject.toml: expected "),
    ("tool = 1\n", "tool: expected a table; got 1"),
    ("tool = []\n", "tool: expected a table; got []"),
    ("[[tool]]\n", "tool: expected a table; got [{}]"),
    ('[tool]\nverify = "yes"\n', "tool.verify: expected a table; got 'yes'"),
    ("[tool.verify]\nsubjects = 3.5\n", "tool.verify.subjects: expected a table; got 3.5"),
    ('[tool.verify]\nsubjects = ["m:f"]\n', "tool.verify.subjects: expected a table; got ['m:f']"),
    ("[[tool.verify.subjects]]\n", "tool.verify.subjects: expected a table; got [{}]"),
    ("[tool.verify.subjects]\n", "subject: expected a subject and MODULE:FUNCTION, or a table"),
    *[(ENTRY + value, f"{PLACE}: expected 'package.module:function', or a table with implementation")
      for value in ("1", "true", "{}", "{adapter = 'm:f'}", "{implementation = 1}", "2020-01-01",
                    "{implementation = ['m:f']}", "nan", "{implementation = {a = 'm:f'}}")],
    *[(ENTRY + f"{{{RIGHT}, {option} = 1}}", f"{PLACE}: expected implementation and any of")
      for option in ("speed", "dtype", "claim", "package", "Effort", "subject")],
    *[(ENTRY + f"{{{RIGHT}, {option} = {value}}}", f"{PLACE}.{option}: expected text; got ")
      for option in ("effort", "device") for value in ("1", "['x']", "true", "{}")],
    *[(ENTRY + f"{{{RIGHT}, {option} = {value}}}", PLACE)
      for option in ("adapter", "claims") for value in ("1", "['x']", "true", "{}")],
    *[(ENTRY + f"{{{RIGHT}, dtypes = {value}}}", f"{PLACE}.dtypes: expected a list of precisions by name; got ")
      for value in ("'float64'", "64", "[]", "[64]", "[['float64']]", "true", "{}")],
    (ENTRY + f"{{{RIGHT}, dtypes = ['float8']}}", f"{PLACE}: dtypes: expected float64, float32, float16 or bfloat16; got 'float8'"),
    (ENTRY + f"{{{RIGHT}, effort = 'heroic'}}", f"{PLACE}: effort: expected one of"),
    (ENTRY + f"{{{RIGHT}, claims = 'nothing'}}", f"{PLACE}: claims: expected a glob that matches"),
    (ENTRY + f"{{{RIGHT}, device = 'meta'}}", f"{PLACE}: device: expected cpu"),
    (ENTRY + f"{{{RIGHT}, adapter = 'bi_layers:raising_adapter'}}", f"{PLACE}: adapter: expected a function that returns"),
    (ENTRY + '"bi_layers:absent"', f"{PLACE}: implementation: expected a callable"),
    (ENTRY + '"bi_leaves:f"', f"{PLACE}: implementation: expected a callable"),
    (ENTRY + '"bi_layers:leaves_for_good"', f"{PLACE}: implementation: expected a function that returns, or raises"),
    ('[tool.verify.subjects]\nattention = "bi_layers:right"\n', "tool.verify.subjects.attention: subject: expected one of"),
    ('[tool.verify.subjects]\nhessian.attention = "bi_layers:right"\n', "tool.verify.subjects.hessian: expected 'package"),
]  # fmt: skip

CLAIM = {"id": "hessian.eq-2", "verdict": "holds", "why": "", "grade": None, "severity": None}

#: Baselines as data, each with what the message contains.
BASELINES: list[tuple[Any, str]] = [
    *[(data, "which has no list of claims with")
      for data in (None, 1, "text", [], {}, {"schema": 3}, {"claims": []}, {"schema": "3", "claims": []},
                   {"schema": True, "claims": []}, {"schema": None, "claims": []}, {"schema": 3, "claims": {}},
                   {"schema": 3, "claims": None}, {"schema": 3, "claims": [1]}, {"schema": 3, "claims": [None]},
                   {"schema": 3, "claims": [{}]}, {"schema": 3, "claims": [[]]}, {"schema": 3, "claims": ["hessian.eq-2"]})],
    *[({"schema": 3, "claims": [{key: value for key, value in CLAIM.items() if key != lost}]}, "which has no list of claims")
      for lost in CLAIM],
    *[({"schema": 3, "claims": [{**CLAIM, name: value}]}, f"{name} text; got ")
      for name in ("id", "verdict", "why") for value in (None, 1, [], {}, True, ["holds"])],
    *[({"schema": 3, "claims": [{**CLAIM, name: value}]}, f"{name} text or null; got ")
      for name in ("grade", "severity") for value in (1, [], {}, False)],
    ({"schema": 3, "claims": [CLAIM, CLAIM]}, "which lists 'hessian.eq-2' twice"),
]  # fmt: skip
