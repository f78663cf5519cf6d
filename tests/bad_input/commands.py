"""Command lines that are refused: exit status 2 and what standard error contains; and the files that they speak of."""

from __future__ import annotations

from pathlib import Path

#: Modules and packages of the folder in which the commands run.
FILES = {
    "bi_layers.py": """
        import math, os, sys, time
        import pytest, torch

        pi = 3

        def right(X, W_Q, W_K, W_V):
            return torch.softmax(X @ W_Q @ W_K.T @ X.T / math.sqrt(W_Q.shape[1]), -1) @ X @ W_V

        def leaves(*matrices): sys.exit(0)
        def leaves_for_good(*matrices): os._exit(0)
        def leaves_with_one(*matrices): os._exit(1)
        def is_killed(*matrices): os.kill(os.getpid(), 9)
        def skips(*matrices): pytest.skip("not today")
        def fails(*matrices): pytest.fail("today")
        def cancels(*matrices): raise GeneratorExit
        def exits_with_text(*matrices): sys.exit("bye")
        def raises(*matrices): raise OSError("no such head")
        def recurses(*matrices): return recurses(*matrices)
        def never_returns(*matrices):
            while True: time.sleep(0.1)
        def blocks(*matrices):
            import ctypes
            ctypes.PyDLL(None).sleep(600)  # in C, with the lock of the interpreter
        def in_numpy(*matrices): return right(*matrices).numpy()
        def on_meta(*matrices): return right(*matrices).to("meta")
        def in_half(*matrices): return right(*matrices).half()
        def complex_valued(*matrices): return right(*matrices) + 0j
        def in_integers(*matrices): return right(*matrices).long()
        def sparse(*matrices): return right(*matrices).to_sparse()
        def in_pairs(*matrices): return right(*matrices), None
        def nothing(*matrices): pass
        def in_lists(*matrices): return right(*matrices).tolist()
        def later(*matrices): yield right(*matrices)
        def truth(*matrices): return right(*matrices) > 0
        def scalar(*matrices): return right(*matrices).sum()
        def empty(*matrices): return right(*matrices)[:0]
        def nan(*matrices): return right(*matrices) * math.nan
        def no_parameters(): return torch.ones(2, 2)

        class Leaving(torch.autograd.Function):
            generate_vmap_rule = True
            forward = staticmethod(lambda X: X.clone())
            setup_context = staticmethod(lambda context, inputs, output: None)
            backward = staticmethod(lambda context, gradient: sys.exit(0))

        def leaves_in_the_backward_pass(X, W_Q, W_K, W_V):
            return right(Leaving.apply(X), *map(Leaving.apply, (W_Q, W_K, W_V)))

        def raising_adapter(function): raise KeyError("head")
        def leaving_adapter(function): sys.exit(0)
        def adapter_to_nothing(function): return None
        def adapter_of_two(function, layout): return function
        """,
    "bi_leaves.py": "import sys\nsys.exit(0)\n",
    "bi_syntax.py": "def f(:\n",
    "bi_raises.py": "import math\nx = 1 / 0\n",
    "bi_imports.py": "import no_such_module_at_all\n",
    "bi_skips.py": "import pytest\npytest.skip('no', allow_module_level=True)\n",
    "bi_getattr.py": "def __getattr__(name):\n    raise RuntimeError(name)\n",
    "bi_empty/__init__.py": "",
    "bi_broken/__init__.py": "",
    "bi_broken/inner.py": "raise KeyError('inner')\n",
    "bi_leaving/__init__.py": "",
    "bi_leaving/inner.py": "raise SystemExit(0)\n",
    "bi_mistaken/__init__.py": "",
    "bi_mistaken/inner.py": """
        from verify.vocabulary import Claim, Equal, Paper
        CLAIM = Claim(Paper("a", "", "", "row-major"), "b.1", name="another", label="", statement="", relation=Equal(), sizes={})
        """,
    "bi_exiting/__init__.py": """
        from typing import Annotated, Any
        from verify.vocabulary import Claim, Equal, Paper, Shape

        A_mn = Annotated[Any, Shape("m", "n")]
        CLAIM = Claim(Paper("e", "", "", "row-major"), "e.exit", name="an exit", label="E", statement="A = A", relation=Equal(),
                      sizes={"m": (1, 2), "n": (1, 2)}, exact=True)
        @CLAIM.formula
        def formula(A: A_mn) -> Any: return A * 1
        @CLAIM.oracle
        def oracle(A: A_mn) -> Any: raise SystemExit(0)
        @CLAIM.mutant("doubled")
        def _(A: A_mn) -> Any: return 2 * A
        @CLAIM.mutant("tripled")
        def _(A: A_mn) -> Any: return 3 * A
        """,
    "file": "",
    "not_json.json": "{",
    "list.json": "[]",
    "binary.json": "\udcff",
    "deep.json": "[" * 100_000,
}

CHECK = ("check", "hessian.attention")
RIGHT = (*CHECK, "bi_layers:right")
NO_CLAIM = "claims: expected a glob that matches"
IMPLEMENTATION = "implementation: expected a callable, or text 'package.module:function'"
ADAPTER = "adapter: expected a function that returns a callable; got 'bi_layers:"

#: Command lines, each with what standard error contains.
COMMANDS: list[tuple[tuple[str, ...], str]] = [
    # no command, and none that is known
    ((), "the following arguments are required: COMMAND"),
    (("chekc",), "invalid choice: 'chekc'"),
    (("list", "--verbose-please"), "unrecognized arguments: --verbose-please"),
    # packages
    (("--package", "no_such_package", "list"), "package: expected the name of a package that can be imported; got 'no_suc"),
    (("--package", "", "list"), "package: expected the name of a package that can be imported; got ''"),
    (("--package", ".theorems", "list"), "package: expected the name of a package that can be imported; got '.theorems'"),
    (("--package", "the orems", "list"), "package: expected the name of a package that can be imported; got 'the orems'"),
    (("--package", "theorems.nothing", "list"), "package: expected the name of a package that can be imported"),
    (("--package", "json", "list"), "package: expected a package whose modules declare claims; got 'json', which declares"),
    (("--package", "math", "list"), "package: expected a package whose modules declare claims; got 'math'"),
    (("--package", "bi_empty", "list"), "package: expected a package whose modules declare claims; got 'bi_empty'"),
    (("--package", "bi_syntax", "list"), "got 'bi_syntax', which raises SyntaxError"),
    (("--package", "bi_raises", "list"), "got 'bi_raises', which raises ZeroDivisionError: division by zero at "),
    (("--package", "bi_leaves", "list"), "got 'bi_leaves', which raises SystemExit: 0"),
    (("--package", "bi_imports", "list"), "which raises ModuleNotFoundError: No module named 'no_such_module_at_all'"),
    (("--package", "bi_skips", "list"), "got 'bi_skips', which raises Skipped: no"),
    (("--package", "bi_broken", "list"), "got 'bi_broken', whose module bi_broken.inner raises KeyError: 'inner'"),
    (("--package", "bi_leaving", "list"), "got 'bi_leaving', whose module bi_leaving.inner raises SystemExit: 0"),
    (("--package", "bi_mistaken", "list"), "b.1: the id of a claim begins with its paper's key, 'a'"),
    *[(("--package", "json", *command), "package: expected a package whose modules declare claims")
      for command in (("run",), ("show", "x"), ("contents", "x"), ("soak",), ("prove", "*"), ("witnesses",), ("report",),
                      ("subjects",), RIGHT)],
    *[(("--package", "bi_leaves", *command), "package: expected the name of a package that can be imported")
      for command in (("run",), ("show", "x"), ("report", "--no-site"), ("subjects",), RIGHT)],
    # claims, papers, kinds
    *[((command, "nothing.*"), NO_CLAIM) for command in ("list", "run", "soak", "prove", "witnesses")],
    *[((command, ""), NO_CLAIM) for command in ("list", "run", "soak", "witnesses")],
    (("run", "[z"), NO_CLAIM),
    (("report", "--claims", "nothing"), NO_CLAIM),
    (("report", "--claims", "hessian.thm-3.1-*", "--claims", "x"), NO_CLAIM),
    (("show", "hessian.thm-3.2"), "claim id: expected one of the ids"),
    (("show", ""), "claim id: expected one of the ids"),
    (("show",), "the following arguments are required: id"),
    (("list", "--paper", "nobody"), "--paper: expected one of"),
    (("list", "--kind", "equals"), "--kind: expected one of"),
    (("list", "--verdict", "true"), "argument --verdict: invalid choice: 'true'"),
    (("contents", "nobody"), "paper: expected one of"),
    (("--package", "bi_exiting", "prove", "e.exit"), "package: expected a package whose code never exits"),
    (("prove", "osa.alg-1"), "claims: expected a claim of kind"),
    # settings
    *[(("run", "hessian.eq-2", "--effort", effort), "effort: expected one of ['ci', 'deep', 'quick']")
      for effort in ("", "Quick", "heroic", "1")],
    *[(("soak", "hessian.eq-2", "--seeds", "1", "--effort", effort), "effort: expected one of")
      for effort in ("", "heroic")],
    (("run", "hessian.eq-2", "--seed=-1"), "seed: expected an integer >= 0; got -1"),
    *[(("run", f"--seed={seed}"), "argument --seed: invalid int value") for seed in ("one", "1.5", "0x10", "1e3", "²", "")],
    *[(("soak", "hessian.eq-2", f"--seeds={seeds}"), "--seeds: expected a seed, or two as FIRST:LAST, none negative")
      for seeds in ("", ":", "1:", ":2", "2:1", "-1", "-3:-1", "1:2:3", "1.5", "a:b", "1-3", "1,2", "²", "0x1", " 1")],
    *[(("run", "hessian.eq-2", "--dtype", dtype), "dtype: expected float64 or float32")
      for dtype in ("float16", "bfloat16", "double", "", "torch.float64", "int64")],
    *[(("run", "hessian.eq-2", "--device", device), "device: expected cpu, or an accelerator that torch can use here")
      for device in ("abacus", "", "meta", "cpu:x", "cuda:99", "cuda:-1", "CPU ", "mps:7")],
    *[(("run", "hessian.eq-2", f"--jobs={jobs}"), "--jobs: expected at least 1") for jobs in ("0", "-1")],
    *[(("soak", "hessian.eq-2", f"--jobs={jobs}"), "--jobs: expected at least 1") for jobs in ("0", "-2")],
    *[((command, f"--jobs={jobs}"), "argument --jobs: invalid int value")
      for command in ("run", "soak") for jobs in ("two", "1.5")],
    # folders and baselines
    (("--evidence", "file", "list"), "evidence: expected a folder that can be read"),
    (("--evidence", "file/below", "list"), "evidence: expected a folder that can be read"),
    (("--evidence", "file", "run", "hessian.eq-2", "--effort", "quick", "--jobs", "1"), "evidence: expected a folder that"),
    (("--evidence", "file", "report", "--no-site"), "evidence: expected a folder that can be read"),
    (("report", "--no-site", "--claims", "hessian.eq-2", "--out", "file"), "--out: expected a folder that can be written"),
    (("report", "--no-site", "--claims", "hessian.eq-2", "--out", "file/below"), "--out: expected a folder that can be wr"),
    (("report", "--claims", "hessian.eq-2", "--out", "file/two/below"), "--out: expected a folder that can be written to"),
    (("report", "--baseline", "none.json"), "--baseline: expected a report.json"),
    (("report", "--baseline", "."), "--baseline: expected a report.json"),
    (("report", "--baseline", ""), "--baseline: expected a report.json"),
    (("report", "--baseline", "not_json.json"), "which is not JSON"),
    (("report", "--baseline", "binary.json"), "which is not JSON"),
    (("report", "--baseline", "deep.json"), "which is not JSON"),
    (("report", "--baseline", "list.json"), "which has no list of claims"),
    (("witnesses", "hessian.eq-2"), "claims: expected claims with evidence about this code"),
    # implementations
    (("subjects", "nothing"), "subjects: expected a glob that matches at least one subject; got 'nothing'"),
    (("check",), "subject: expected a subject and MODULE:FUNCTION, or a table [tool.verify.subjects]; got neither"),
    (CHECK, "implementation: expected MODULE:FUNCTION after the subject; got nothing"),
    (("check", "hessian.atention", "bi_layers:right"), "subject: expected one of"),
    (("check", "", "bi_layers:right"), "subject: expected one of"),
    *[((*CHECK, text), f"{IMPLEMENTATION} that leads to one; got '{text}'")
      for text in ("bi_layers", "bi_layers:", ":right", ":", "", "no_such_module:f", ".bi_layers:right", "bi_layers.right",
                   "bi_layers:absent", "bi_layers:right.absent", "bi_layers:pi", "bi_layers:pi.real", "bi layers:right",
                   "bi_layers:right()", "bi_layers:right:right", "bi_leaves:f", "bi_syntax:f", "bi_raises:f", "bi_imports:f",
                   "bi_skips:f", "bi_getattr:f", "bi_broken.inner:f", "bi_broken:inner")],
    ((*CHECK, "bi_leaves:f"), "got 'bi_leaves:f' (SystemExit: 0 at "),
    ((*CHECK, "bi_raises:f"), "got 'bi_raises:f' (ZeroDivisionError: division by zero at "),
    ((*CHECK, "bi_layers:leaves_for_good"), "got one that ended its process with exit status 0"),
    ((*CHECK, "bi_layers:leaves_with_one"), "got one that ended its process with exit status 1"),
    ((*CHECK, "bi_layers:is_killed"), "got one that ended its process with SIGKILL"),
    ((*CHECK, "bi_layers:never_returns", "--timeout", "0.3"), "--timeout: expected an implementation whose checks end"),
    ((*CHECK, "bi_layers:blocks", "--timeout", "0.3"), "--timeout: expected an implementation whose checks end within 0.3 s"),
    *[((*RIGHT, f"--timeout={seconds}"), "--timeout: expected a positive number of seconds")
      for seconds in ("0", "-1", "nan", "inf", "-inf")],
    ((*RIGHT, "--timeout", "long"), "argument --timeout: invalid float value: 'long'"),
    ((*RIGHT, "--adapter", "bi_layers:raising_adapter"), f"{ADAPTER}raising_adapter', which raised KeyError: 'head'"),
    ((*RIGHT, "--adapter", "bi_layers:leaving_adapter"), f"{ADAPTER}leaving_adapter', which raised SystemExit: 0"),
    ((*RIGHT, "--adapter", "bi_layers:adapter_of_two"), f"{ADAPTER}adapter_of_two', which raised TypeError"),
    ((*RIGHT, "--adapter", "bi_layers:adapter_to_nothing"), "adapter: expected a function that returns a callable; got one"),
    ((*RIGHT, "--adapter", "theorems.adapters:attention_kernel"), "attention_kernel', which raised InputError: subject:"),
    *[((*RIGHT, "--adapter", text), "adapter: expected a callable, or text 'package.module:function'")
      for text in ("bi_layers", "bi_layers:absent", "bi_layers:pi", "no_such_module:f", "bi_leaves:f", "")],
    *[((*RIGHT, "--claims", glob), NO_CLAIM) for glob in ("nothing.*", "", "osa.*", "hessian.thm-3.2")],
    *[((*RIGHT, "--effort", effort), "effort: expected one of") for effort in ("", "heroic", "QUICK")],
    *[((*RIGHT, "--dtype", dtype), "dtypes: expected float64, float32, float16 or bfloat16") for dtype in ("float8", "half", "")],
    *[((*RIGHT, "--device", device), "device: expected cpu, or an accelerator that torch can use here")
      for device in ("meta", "abacus", "", "cuda:99")],
]  # fmt: skip

#: Functions that are no attention: exit status 1, and what the report says.  Neither passes, neither shows a traceback.
BROKEN: dict[str, str] = {
    "leaves": "it raised SystemExit: 0",
    "leaves_in_the_backward_pass": "it raised SystemExit: 0",
    "exits_with_text": "it raised SystemExit: bye",
    "skips": "it raised Skipped: not today",
    "fails": "it raised Failed: today",
    "cancels": "it raised GeneratorExit",
    "raises": "it raised OSError: no such head",
    "recurses": "it raised RecursionError",
    "no_parameters": "it raised TypeError",
    "in_numpy": "result: expected a torch tensor; got ndarray",
    "on_meta": "result: expected the device of the arguments, cpu; got meta",
    "in_half": "result: expected the dtype of the arguments, torch.float64; got torch.float16",
    "complex_valued": "result: expected the dtype of the arguments, torch.float64; got torch.complex128",
    "in_integers": "result: expected the dtype of the arguments, torch.float64; got torch.int64",
    "truth": "result: expected the dtype of the arguments, torch.float64; got torch.bool",
    "sparse": "result: expected a dense tensor; got layout torch.sparse_coo",
    "in_pairs": "result: expected a torch tensor; got tuple",
    "nothing": "result: expected a torch tensor; got NoneType",
    "in_lists": "result: expected a torch tensor; got list",
    "later": "result: expected a torch tensor; got generator",
    "scalar": "result: expected shape (",
    "empty": "result: expected shape (",
    "nan": "inf units",
}


def write_files(folder: Path) -> None:
    """Write the modules, packages and files of the commands."""
    import textwrap

    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(content), encoding="utf-8", errors="surrogateescape")
