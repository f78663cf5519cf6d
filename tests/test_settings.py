"""Settings: what a section assumes once, what a claim adds, replaces or narrows."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import pytest

from verify.vocabulary import Assumption, Claim, Equal, Paper, Real, RegistryError, Scale, Setting, Shape, Size

pytestmark = pytest.mark.kept

PAPER = Paper("toy", "Toy claims", "nobody", "row-major")
Matrix = Annotated[Any, Shape("m", "n")]


def tall(sizes: Any) -> bool:
    return sizes["m"] >= sizes["n"]


def unit_rows(X: Matrix) -> dict[str, Any]:
    return {"X": X}


def nothing(arrays: Any, sizes: Any, rng: Any) -> None:
    """Edit nothing."""


SECTION = Setting(
    PAPER,
    "Section 2",
    assumptions=["X has full rank"],
    sizes={"m": (1, 4), "n": (1, 3)},
    where=tall,
    inputs=unit_rows,
    exact=True,
    without_domains={"tied": "full rank"},
    special_domains={"orthonormal": nothing},
)


def claim(setting: Setting | Paper, **options: Any) -> Claim:
    return Claim(setting, "toy.a", label="a", statement="x = x", relation=Equal(), **options)


def test_a_claim_takes_what_its_setting_says() -> None:
    taken = claim(SECTION)
    assert taken.paper is PAPER and taken.exact and taken.where is tall
    assert taken.assumption_texts == ["X has full rank"] and taken.sizes == SECTION.sizes
    assert taken.without_domains == {"tied": "full rank"} and taken.special_domains == {"orthonormal": nothing}
    assert taken.parameters == {"X": Shape("m", "n")} and taken.prepare({"X": 1}) == {"X": 1}


def test_a_paper_stands_for_a_setting_without_assumptions() -> None:
    bare = claim(PAPER)
    assert bare.paper is PAPER and bare.setting.paper is PAPER and bare.exact is False
    assert bare.assumption_texts == [] and dict(bare.sizes) == {} and bare.where({})


def test_a_claim_adds_and_replaces() -> None:
    test = Assumption("m > n", positive=lambda m, n: m - n)
    own = claim(
        SECTION, assumptions=[test], where=lambda sizes: True, exact=False, without_domains={"kinks": "no zeros"}
    )
    assert own.assumption_texts == ["X has full rank", "m > n"] and own.tested_assumptions == [test]
    assert own.where({"m": 1, "n": 3}) and own.exact is False
    assert own.without_domains == {"tied": "full rank", "kinks": "no zeros"}


def test_a_claims_own_domains_and_inputs_leave_the_setting_alone() -> None:
    first, second = claim(SECTION), claim(SECTION)
    first.domain("zero", nothing)
    first.inputs(lambda: {"X": 0})
    assert "zero" not in second.special_domains and "zero" not in SECTION.special_domains
    assert first.prepare({}) == {"X": 0} and second.prepare({"X": 1}) == {"X": 1}


def test_inputs_that_are_handed_on_are_those_that_are_named_and_no_others() -> None:
    found = claim(SECTION)
    found.inputs(n=Annotated[int, Size("n")], x=Annotated[Any, Real(0.0, 1.0)])
    assert found.parameters == {"n": Size("n"), "x": Real(0.0, 1.0)}
    assert found.prepare({"n": 2, "x": 1}) == {"n": 2, "x": 1}
    with pytest.raises(TypeError):
        inspect.signature(found.named_functions()["inputs"]).bind(y=0)
    found.inputs(n=int)
    with pytest.raises(RegistryError, match="parameter n has no annotation that says how to draw it"):
        _ = found.parameters


def test_names_select_sizes_of_the_setting() -> None:
    assert claim(SECTION, sizes=("n",)).sizes == {"n": (1, 3)}
    assert claim(SECTION, sizes={"k": (2, 2)}).sizes == {"k": (2, 2)}


def test_a_size_that_is_none_of_the_settings_is_refused() -> None:
    with pytest.raises(RegistryError, match=r"toy\.a: sizes \['k'\] are none of the setting's, \['m', 'n'\]"):
        claim(SECTION, sizes=("n", "k"))


def test_an_extension_adds_assumptions_sizes_and_domains_and_replaces_the_rest() -> None:
    extended = SECTION.extended(
        "Section 2.1",
        assumptions=["and orthonormal columns"],
        sizes={"n": (2, 2), "k": (1, 5)},
        without_domains={"kinks": "no zeros"},
        special_domains={"zero": nothing},
        exact=False,
    )
    assert extended.title == "Section 2.1" and extended.paper is PAPER
    assert extended.assumptions == ("X has full rank", "and orthonormal columns")
    assert extended.sizes == {"m": (1, 4), "n": (2, 2), "k": (1, 5)}
    assert set(extended.without_domains) == {"tied", "kinks"}
    assert set(extended.special_domains) == {"orthonormal", "zero"}
    assert extended.exact is False and extended.where is tall and extended.inputs is unit_rows
    assert SECTION.sizes == {"m": (1, 4), "n": (1, 3)} and SECTION.exact


def test_an_extension_without_a_title_keeps_it() -> None:
    assert SECTION.extended(exact=False).title == "Section 2"


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(RegistryError, match=r"a setting has no \['size'\]; it has \['assumptions',"):
        SECTION.extended(size={"m": (1, 2)})


def test_a_scale_gives_every_size_admissibly() -> None:
    with pytest.raises(RegistryError, match="'large'"):
        claim(SECTION).at_scale("large", m=2, n=3)
    with pytest.raises(RegistryError, match="'half'"):
        claim(SECTION).at_scale("half", m=2)
    with pytest.raises(RegistryError, match=r"'wide', sizes \['d'\] are none of the claim's, \['m', 'n'\]"):
        claim(SECTION).at_scale("wide", m=2, n=2, d=3)


def test_claims_take_the_scales_of_their_setting_with_the_sizes_that_they_have() -> None:
    experiment = Scale("the experiments", {"m": 50, "n": 20, "d": 64}, nothing)
    section = SECTION.extended(scales=[experiment])
    assert claim(section).scales == {"the experiments": Scale("the experiments", {"m": 50, "n": 20}, nothing)}
    assert claim(section, sizes=("m",), where=lambda sizes: True).scales["the experiments"].sizes == {"m": 50}
    longer = section.extended(scales=[Scale("longer", {"m": 100, "n": 20}, nothing)])
    assert list(claim(longer).scales) == ["the experiments", "longer"]
    own = claim(section)
    own.at_scale("large", m=9, n=3)(nothing)
    assert list(own.scales) == ["the experiments", "large"] and list(claim(section).scales) == ["the experiments"]


def test_a_scale_can_be_had_with_other_sizes_and_must_suit_the_claim() -> None:
    experiment = Scale("the experiments", {"m": 50}, nothing)
    with pytest.raises(
        RegistryError, match=r"toy\.a: at 'the experiments', \{'m': 50\} does not give all of \['m', 'n'\]"
    ):
        claim(SECTION.extended(scales=[experiment]))
    assert claim(SECTION.extended(scales=[experiment.at(n=2)])).scales["the experiments"].sizes == {"m": 50, "n": 2}
    with pytest.raises(RegistryError, match="admissibly"):
        claim(SECTION.extended(scales=[experiment.at(n=60)]))
