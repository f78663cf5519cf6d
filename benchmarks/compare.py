"""Reference functions, peers and floors side by side in one run: ratios, growth, errors against balls, goals.

    python benchmarks/compare.py [--topic derivatives|osa|hessian|products|ntk|suite] [--quick] [--device cuda]
                                 [--json FILE] [--plot FILE] [--page FILE]

One thread.  Every entry is warmed up, all entries of a case take turns, and medians of processor time are compared.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import attention_derivatives
import dense_hessian
import hessian_products
import orthogonal_attention
import records
import suite_throughput
import tangent_kernels
import torch
from measure import FLOOR, OURS, Case, Goal, Topic, by_series, growth

TOPICS = {
    "derivatives": attention_derivatives,
    "osa": orthogonal_attention,
    "hessian": dense_hessian,
    "products": hessian_products,
    "ntk": tangent_kernels,
    "suite": suite_throughput,
}


def in_words(topic: Topic, runs: list[records.Run]) -> str:
    """Tables in Markdown: times and ratios by series, errors, and goals, of which `runs` give the worst."""
    lines = [f"## {topic.name}", ""]
    for series, cases in by_series(topic.cases).items():
        exponents = growth(cases)
        lines += [f"**{series}**: milliseconds (times ours)", ""]
        lines += ["| | " + " | ".join(case.label for case in cases) + " | grows as |", "|---" * (len(cases) + 2) + "|"]
        for entry in cases[0].entries:
            exponent = f"size^{exponents[entry.name]:.1f}" if entry.name in exponents else ""
            cells = [_cell(case, entry.name) for case in cases]
            lines.append(f"| {entry.name.strip()} | " + " | ".join(cells) + f" | {exponent} |")
        lines.append("")
    if topic.errors:
        names = list(dict.fromkeys(name for error in topic.errors for name in error.errors))
        lines += [
            "Relative errors against balls:",
            "",
            "| | " + " | ".join(names) + " |",
            "|---" * (len(names) + 1) + "|",
        ]
        for error in topic.errors:
            cells = [f"{error.errors[name]:.1e}" if name in error.errors else "" for name in names]
            lines.append(f"| {error.label} | " + " | ".join(cells) + " |")
        lines.append("")
    if topic.breakdowns:
        kinds = list(topic.breakdowns[0].shares)
        lines += [
            "Where our time goes, by a profile:",
            "",
            "| | operations | " + " | ".join(kinds) + " |",
            "|---" * (len(kinds) + 2) + "|",
        ]
        for found in topic.breakdowns:
            lines.append(
                f"| {found.label} | {found.calls} | " + " | ".join(f"{found.shares[kind]:.0%}" for kind in kinds) + " |"
            )
        lines.append("")
    lines += [*(f"{note}\n" for note in topic.notes), *goal_table(topic.goals, runs)]
    return "\n".join(lines)


def _cell(case: Case, name: str) -> str:
    if name not in case.seconds:
        reason = next(entry.absent for entry in case.entries if entry.name == name)
        return f"({reason})"
    ours = case.seconds[next(entry.name for entry in case.entries if entry.whose == OURS)]
    return f"{1000 * case.seconds[name]:.3g} ({case.seconds[name] / ours:.2g})"


def goal_table(goals: Iterable[Goal], runs: list[records.Run]) -> list[str]:
    """Each goal as measured now and as the least favourable of all processors measured it, by which it is met or missed."""
    rows = []
    for goal in goals:
        least, cpu = records.worst(goal, runs)
        bound = f"{'at least' if goal.least else 'at most'} {goal.target:g}"
        verdict = "met" if least.met else "missed"
        rows.append(f"| {goal.text} | {bound} | {goal.measured:.2g} | {least.measured:.2g} | {verdict} | {cpu} |")
    return ["| goal | | here | worst | | of the processor |", "|---|---|---|---|---|---|", *rows, ""]


def draw(topics: Iterable[Topic], path: str) -> None:
    """Time against size, one panel for the first series of a topic with three sizes or more."""
    try:
        import matplotlib
    except ImportError:
        print("no plot: matplotlib is not installed")
        return
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "benchmarks"
    from matplotlib import pyplot

    series = [next(iter(by_series(topic.cases).items())) for topic in topics]
    chosen = [(name, cases) for name, cases in series if len(cases) > 1] or series
    figure, panels = pyplot.subplots(1, len(chosen), figsize=(5 * len(chosen), 5), squeeze=False, layout="constrained")
    for panel, (series, cases) in zip(panels[0], chosen, strict=True):
        cases = sorted(cases, key=lambda case: case.size)
        for entry in cases[0].entries:
            points = [(case.size, 1000 * case.seconds[entry.name]) for case in cases if entry.name in case.seconds]
            if points:
                style = {OURS: "o-", FLOOR: "k:"}.get(entry.whose, "s--")
                panel.loglog(*zip(*points, strict=True), style, label=entry.name.strip(), markersize=4)
        panel.set(title=series, xlabel="weights" if "Hessian" in series else "tokens or samples", ylabel="milliseconds")
        panel.title.set_fontsize(9)
        panel.legend(fontsize=7)
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


MARKS = ("<!-- tables -->", "<!-- end -->")


def write_page(topics: Iterable[Topic], runs: list[records.Run], path: str) -> None:
    """Replace the sections of the topics between the marks of a page by the tables; other sections stay."""
    before, rest = Path(path).read_text().split(MARKS[0])
    kept, after = rest.split(MARKS[1])
    sections = {f"## {text.partition(chr(10))[0]}": f"## {text}" for text in f"\n{kept}".split("\n## ")[1:]}
    for topic in topics:
        sections[f"## {topic.name}"] = in_words(topic, runs)
    tables = "\n\n".join(text.rstrip() for text in sections.values())
    Path(path).write_text(f"{before}{MARKS[0]}\n\n{tables}\n\n{MARKS[1]}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topic", choices=TOPICS, action="append", help="may be repeated; all unless given")
    parser.add_argument("--quick", action="store_true", help="small sizes and few rounds")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda where there is a GPU")
    parser.add_argument("--json", metavar="FILE", help="keep the numbers beside those of other processors")
    parser.add_argument("--page", metavar="FILE", help="put the tables between the marks of a page")
    parser.add_argument("--plot", metavar="FILE", help="needs matplotlib")
    options = parser.parse_args()
    torch.set_num_threads(1)
    topics, runs = list[Topic](), records.read(options.json)
    for name in options.topic or TOPICS:
        topics.append(TOPICS[name].topic(options.device, options.quick))
        print(in_words(topics[-1], records.together(runs, records.as_run(topics, options.device))), flush=True)
    runs = records.together(runs, records.as_run(topics, options.device))
    print("## All goals\n")
    print("\n".join(goal_table([goal for topic in topics for goal in topic.goals], runs)))
    if options.page:
        write_page(topics, runs, options.page)
    if options.json:
        records.write(runs, options.json)
    if options.plot:
        draw(topics, options.plot)


if __name__ == "__main__":
    main()
