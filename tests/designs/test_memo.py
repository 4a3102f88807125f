"""The memo of one person: for ever the same permanent responses, in a file or from a secret, and what was spent."""

from __future__ import annotations

import hashlib
import json
import stat
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from warner import RandomizedResponse, tally
from warner.designs import Design, Memo, Memoized
from warner.designs import memo as memos
from warner.designs.hashing import LocalHashing
from warner.designs.unary import UnaryEncoding

if TYPE_CHECKING:
    from pathlib import Path

DOMAIN = ["never", "once", "often"]
SURVEY = Memoized.response(DOMAIN, eps_infinity=2, eps_first=1)
AGAINST = "against any other history with the same pattern of equal and different answers"
SECRET = bytes(range(32))


def bare(domain: Any = DOMAIN, odds: tuple[int, int] = (3, 2)) -> Memoized:
    """Return a design whose reports are the permanent responses themselves, which so can be seen."""
    return Memoized(RandomizedResponse(domain, odds=odds), RandomizedResponse(domain, odds=(1, 0)))


BARE = bare()
NEVER = Fraction(1, 2**60)  # so rare that no test will see it


def bare_bits(k: int) -> Memoized:
    return Memoized(UnaryEncoding(k, p="3/4", q="1/4"), UnaryEncoding(k, p=1, q=NEVER))


def bare_hashing(k: int, field: int, odds: tuple[int, int] = (3, 1)) -> Memoized:
    return Memoized(LocalHashing(k, odds=odds, field=field), RandomizedResponse(field, odds=(1, 0)))


every_kind = pytest.mark.parametrize(
    "design", [bare(10), bare_bits(10), bare_hashing(10, 3)], ids=lambda d: d.first.mechanism
)


def both_kinds(folder: Path, design: Memoized) -> list[Memo]:
    return [Memo.create(folder / "memo.json", design), Memo.from_secret(SECRET, design)]


@every_kind
def test_a_permanent_response_stays_the_same_for_ever(design: Memoized, tmp_path: Path) -> None:
    answers = list(design.domain)
    for memo in both_kinds(tmp_path, design):
        first = [design.report(answer, memo) for answer in answers]
        assert [design.report(answer, memo) for answer in reversed(answers)] == first[::-1]
        assert design.report(answers * 2, memo) == first * 2
        reopened = Memo.load(tmp_path / "memo.json", design) if memo.used() else Memo.from_secret(SECRET, design)
        assert design.report(answers, reopened) == first
        assert design.report([], reopened) == []


@pytest.mark.parametrize("make", [Memoized.response, Memoized.unary, Memoized.hashing])
def test_the_second_round_is_drawn_at_every_report(make: Any, tmp_path: Path) -> None:
    # 200 reports, of which each is the most likely one with probability 0.61 at most, are never all the same.
    design = make(10, eps_infinity=2, eps_first=1)
    for memo in both_kinds(tmp_path, design):
        assert len(set(design.report([3] * 200, memo))) > 1


def test_a_person_has_one_hash_function_for_ever_and_memoizes_its_values(tmp_path: Path) -> None:
    design = bare_hashing(81, 3)  # 3^4 answers: each function takes all three values
    for memo in both_kinds(tmp_path, design):
        reports = np.array([design.report(answer, memo) for answer in range(81)])
        functions, responses = reports // 3, reports % 3
        assert len(set(functions)) == 1
        hashes = design.rounds.keyed(np.arange(81), functions)
        assert len(set(hashes)) == 3
        # Answers with the same hash have the same response; keyed by answers, they would be alike by chance only.
        assert all(len(set(responses[hashes == value])) == 1 for value in range(3))
    assert Memo.load(tmp_path / "memo.json", design).spent().keys == 3
    assert "for each of 3 hash values, against any other history with the same pattern" in str(memo.spent())


def test_people_have_hash_functions_of_their_own(tmp_path: Path) -> None:
    # 40 directions, 400 people: all of them, but with a probability of 0.2 %; at least 30 in any case.
    design = bare_hashing(81, 3)
    people = [Memo.from_secret(hashlib.sha256(b"%d" % number).digest(), design) for number in range(400)]
    assert len({design.report(7, person) // 3 for person in people}) > 30
    # With a file, too: ten of them are all the same with probability 40^-9.
    files = [Memo.create(tmp_path / f"{number}.json", design) for number in range(10)]
    assert len({design.report(7, memo) // 3 for memo in files}) > 1


def test_permanent_bits_follow_the_first_round(tmp_path: Path) -> None:
    # 200 answers of one person, 200 bits each: 3/4 for the answer itself, 1/4 for each other; five standard errors.
    design = bare_bits(200)
    for memo in both_kinds(tmp_path, design):
        bits = design.report_form.read(design.report(list(range(200)), memo)).reports
        rows = np.unpackbits(bits, axis=1)[:, :200]
        own = int(rows.diagonal().sum())
        assert abs(own - 150) <= 5 * np.sqrt(200 * 3 / 16)
        assert abs(int(rows.sum()) - own - 39_800 / 4) <= 5 * np.sqrt(39_800 * 3 / 16)


def test_permanent_responses_follow_the_first_round(tmp_path: Path) -> None:
    # One person who gave all of 2,000 answers: each response is the answer itself with probability 1/2. Five standard
    # errors; and the others are uniform: below 1,000 as often as not.
    design = bare(2000, (1999, 1))
    for memo in both_kinds(tmp_path, design):
        responses = np.array(design.report(list(range(2000)), memo))
        assert abs((responses == np.arange(2000)).sum() - 1000) <= 5 * np.sqrt(500)
        lies = responses[responses != np.arange(2000)]
        assert abs((lies < 1000).sum() - lies.size / 2) <= 5 * np.sqrt(lies.size / 4)


def test_people_designs_and_answers_have_responses_of_their_own() -> None:
    wide, other = bare(2000, (2, 1)), bare(2000, (4, 2))
    assert wide == other  # in lowest terms: the same design, and so the same responses
    another = bare(2000, (3, 1))
    answers = list(range(2000))

    def responses(design: Memoized, secret: bytes) -> Any:
        return np.array(design.report(answers, Memo.from_secret(secret, design)))

    mine = responses(wide, SECRET)
    assert (mine == responses(other, SECRET)).all()
    # Nearly all responses are lies, which agree by chance in one of 2,000: more than 10 has probability 1e-8.
    for stranger in (responses(another, SECRET), responses(wide, SECRET[::-1])):
        assert (mine == stranger).sum() <= 10
    assert np.unique(mine).size > 1000


def derived(design: Memoized, purpose: bytes, key: bytes = b"") -> bytes:
    """Return the first random bytes of a secret, by hand, for implementations in other languages."""
    spelled = json.dumps(design.to_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    data = hashlib.sha256(spelled.encode()).digest() + purpose + b"\0" + key
    blocks = [
        hashlib.blake2b(data + struct.pack("<Q", counter), key=SECRET, person=b"warner memo") for counter in range(2)
    ]
    return b"".join(block.digest() for block in blocks)


def first_number(drawn: bytes, below: int) -> int:
    return int.from_bytes(drawn[:8], "little") % below  # none of those here is beyond the last whole block


def answered(truth: int, drawn: int, a: int, b: int) -> int:
    """Randomize by hand: below a the truth, else a lie by its number."""
    lie = (drawn - a) // b
    return truth if drawn < a else lie + (lie >= truth)


def test_a_secret_gives_the_bytes_that_the_documentation_says() -> None:
    design = bare(1000, (7, 3))
    reports = design.report(list(range(1000)), Memo.from_secret(SECRET, design))
    for answer in range(1000):
        drawn = first_number(derived(design, b"permanent", struct.pack("<Q", answer)), 7 + 999 * 3)
        assert reports[answer] == answered(answer, drawn, 7, 3)


def test_a_secret_gives_bits_as_the_documentation_says() -> None:
    # 1/4 is 64/256: a byte below 64 is a 1. The last byte, compared with 192, decides the bit of the answer.
    design = bare_bits(100)
    for answer in (0, 7, 99):
        drawn = derived(design, b"permanent", struct.pack("<Q", answer))
        bits = [byte < 64 for byte in drawn[:100]]
        bits[answer] = drawn[100] < 192
        assert design.report(answer, Memo.from_secret(SECRET, design)) == np.packbits(bits).tobytes().hex()


def test_a_secret_gives_a_hash_function_as_the_documentation_says() -> None:
    # Two hash values, seven directions of three bits, 001 to 111 in their order: the parity of what both have set.
    design = bare_hashing(8, 2)
    direction = first_number(derived(design, b"hash"), 7)
    for answer in range(8):
        value = ((direction + 1) & answer).bit_count() % 2
        drawn = first_number(derived(design, b"permanent", struct.pack("<Q", value)), 4)
        report = design.report(answer, Memo.from_secret(SECRET, design))
        assert report == 2 * direction + answered(value, drawn, 3, 1)


def test_permanent_responses_of_a_secret_never_change_with_a_new_version() -> None:
    # If this fails, everybody's responses would be drawn again, and epsilon spent twice: change the sampler back.
    design = bare(1000, (7, 3))
    assert design.report([0, 1, 2, 500, 999], Memo.from_secret(SECRET, design)) == [226, 521, 704, 611, 559]


# What was spent


def test_a_file_is_a_ledger_of_the_answers_that_were_given(tmp_path: Path) -> None:
    memo = Memo.create(tmp_path / "memo.json", SURVEY)
    assert memo.spent().epsilon == 0
    for answer, keys in (("once", 1), ("once", 1), ("often", 2), ("once", 2), ("never", 3)):
        SURVEY.report(answer, memo)
        assert memo.used() == keys
        assert memo.spent().epsilon == 2 * keys
    assert str(memo.spent()) == f"epsilon 6, 2 for each of 3 answers, {AGAINST}"
    assert not memo.spent().bound


def test_a_secret_knows_only_the_bound() -> None:
    memo = Memo.from_secret(SECRET, SURVEY)
    SURVEY.report("once", memo)
    assert (memo.spent().keys, memo.spent().epsilon, memo.spent().bound) == (3, 6.0, True)
    assert str(memo.spent()) == f"nothing is written down: at most epsilon 6, 2 for each of 3 answers, {AGAINST}"


def test_what_was_spent_is_rounded_up(tmp_path: Path) -> None:
    # 3 ln(3/2) = 1.216395324...
    memo = Memo.create(tmp_path / "memo.json", BARE)
    BARE.report(DOMAIN, memo)
    assert memo.spent().epsilon == 1.2163953243244932
    assert "epsilon 1.217, 0.4055 for each of 3 answers" in str(memo.spent())


# The file


def test_the_file_is_its_owners_and_names_no_answer(tmp_path: Path) -> None:
    design = Memoized.response(["Lutheran", "Catholic"], eps_infinity=2, eps_first=1)
    memo = Memo.create(tmp_path / "memo.json", design)
    design.report("Catholic", memo)
    assert stat.S_IMODE(memo.path.stat().st_mode) == 0o600
    text = memo.path.read_text()
    assert "Catholic" not in text
    assert "Lutheran" not in text
    other = Memo.create(tmp_path / "other.json", design)
    design.report("Catholic", other)
    mine, theirs = (json.loads(path.read_text())["permanent"] for path in (memo.path, other.path))
    assert mine.keys() != theirs.keys()  # each file has a salt of its own
    assert sorted(tmp_path.iterdir()) == [memo.path, other.path]


def test_the_file_does_not_tell_the_order_of_time(tmp_path: Path) -> None:
    memo = Memo.create(tmp_path / "memo.json", design := bare(12))
    for answer in range(12):  # in their order by chance in one of 12!
        design.report(answer, memo)
    digests = list(json.loads(memo.path.read_text())["permanent"])
    assert digests == sorted(digests)
    assert len(digests) == 12


def test_nothing_is_reported_that_could_not_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memo = Memo.create(tmp_path / "memo.json", BARE)
    BARE.report("once", memo)
    before = memo.path.read_text()

    def full(*_: Any, **__: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(memos, "save_text", full)
    with pytest.raises(OSError, match="no space"):
        BARE.report("often", memo)
    assert memo.path.read_text() == before
    BARE.report("once", memo)  # what is kept can still be told


def test_several_at_once_draw_one_response(tmp_path: Path) -> None:
    design = bare(10**6, (2, 1))  # two responses agree by chance in one of a million
    for number in range(4):
        path = tmp_path / f"{number}.json"
        Memo.create(path, design)

        def report(_: int, path: Path = path) -> Any:
            return design.report(5, Memo.load(path, design))

        with ThreadPoolExecutor(8) as pool:
            assert len(set(pool.map(report, range(8)))) == 1


# Four of these draw for the same answers at once, each as soon as the other ones are there.
REPORTING = """if True:
    import sys
    from pathlib import Path
    from warner import load_design
    from warner.designs import Memo
    folder, me = Path(sys.argv[1]), sys.argv[2]
    design = load_design(folder / "design.json")
    memo = Memo.load(folder / "memo.json", design)
    (folder / f"{me}.ready").touch()
    while len(list(folder.glob("*.ready"))) < 4:
        pass
    print([design.report(answer, memo) for answer in range(40)])
"""


def test_several_processes_draw_one_response(tmp_path: Path) -> None:
    design = bare(10**6, (2, 1))
    design.save(tmp_path / "design.json")
    memo = Memo.create(tmp_path / "memo.json", design)
    commands = [[sys.executable, "-c", REPORTING, str(tmp_path), str(number)] for number in range(4)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    reported = {process.communicate(timeout=100)[0] for process in processes}
    assert reported == {f"{[design.report(answer, memo) for answer in range(40)]}\n"}
    assert memo.used() == 40


def test_known_answers_are_reported_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memo = Memo.create(tmp_path / "memo.json", BARE)
    before = BARE.report("once", memo)

    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(memos, "FileLock", refused)
    assert BARE.report("once", memo) == before
    with pytest.raises(PermissionError):
        BARE.report("often", memo)


def test_a_memo_is_made_once_and_must_be_there(tmp_path: Path) -> None:
    memo = Memo.create(tmp_path / "memo.json", SURVEY)
    SURVEY.report("once", memo)
    with pytest.raises(FileExistsError, match="already exists; load it"):
        Memo.create(tmp_path / "memo.json", SURVEY)
    assert memo.used() == 1
    with pytest.raises(FileNotFoundError, match="there is no file"):
        Memo.load(tmp_path / "nowhere.json", SURVEY)
    memo.path.unlink()
    with pytest.raises(FileNotFoundError, match="there is no file"):
        SURVEY.report("once", memo)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"design": "0" * 64}, "belongs to another design; every design needs a memo of its own"),
        ({"format": "warner design"}, 'must say "format": "warner memo"'),
        ({"version": 2}, "version 2"),
        ({"surplus": 1}, "damaged: it must not have the field 'surplus'"),
        ({"salt": "00"}, "damaged"),
        ({"salt": None}, "damaged"),
        ({"hash": 1}, "damaged"),
        ({"hash": True}, "damaged"),
        ({"hash": "0"}, "damaged"),
        ({"permanent": []}, "damaged"),
        ({"permanent": {"0" * 32: 3}}, "damaged"),
        ({"permanent": {"0" * 32: -1}}, "damaged"),
        ({"permanent": {"0" * 32: "once"}}, "damaged"),
        ({"permanent": {"0" * 32: True}}, "damaged"),
        ({"permanent": {"0" * 32: None}}, "damaged"),
        ({"permanent": {"0" * 32: [1]}}, "damaged"),
        ({"permanent": {"once": 1}}, "damaged"),
        ({"permanent": {f"{number:032}": 1 for number in range(4)}}, "damaged"),
    ],
)
def test_a_damaged_file_is_one_clear_error(tmp_path: Path, change: dict[str, Any], complaint: str) -> None:
    memo = Memo.create(tmp_path / "memo.json", SURVEY)
    SURVEY.report("once", memo)
    memo.path.write_text(json.dumps(json.loads(memo.path.read_text()) | change))
    for use in (lambda: Memo.load(memo.path, SURVEY), lambda: SURVEY.report("once", memo), memo.spent):
        with pytest.raises(ValueError, match=complaint) as raised:
            use()
        assert str(memo.path) in str(raised.value)
        assert "once" not in str(raised.value)
    memo.path.write_text("{")
    with pytest.raises(ValueError, match="cannot be read"):
        Memo.load(memo.path, SURVEY)


@pytest.mark.parametrize("response", ["00", "000", "0001", "FF00", 3, 0])
def test_permanent_bits_of_another_length_or_spelling_are_damaged(tmp_path: Path, response: Any) -> None:
    design = bare_bits(10)  # two bytes, of which the last six bits are 0
    memo = Memo.create(tmp_path / "memo.json", design)
    design.report(3, memo)
    kept = json.loads(memo.path.read_text())
    memo.path.write_text(json.dumps(kept | {"permanent": dict.fromkeys(kept["permanent"], response)}))
    with pytest.raises(ValueError, match="this memo is damaged"):
        design.report(3, memo)


# Arguments


def test_a_memo_belongs_to_one_design(tmp_path: Path) -> None:
    memo = Memo.create(tmp_path / "memo.json", SURVEY)
    with pytest.raises(ValueError, match="belongs to another design"):
        Memo.load(memo.path, BARE)
    with pytest.raises(ValueError, match="memo must be of the design"):
        BARE.report("once", memo)


@pytest.mark.parametrize("secret", [b"", bytes(31), bytes(33)])
def test_a_secret_of_another_length_is_refused(secret: bytes) -> None:
    with pytest.raises(ValueError, match=f"secret must be 32 random bytes, but got {len(secret)}"):
        Memo.from_secret(secret, SURVEY)


def test_a_secret_is_bytes_and_is_never_shown() -> None:
    with pytest.raises(TypeError, match="secret must be 32 random bytes, but got a str"):
        Memo.from_secret("password", SURVEY)  # type: ignore[arg-type]
    memo = Memo.from_secret(b"a very secret secret, 32 bytes..", SURVEY)
    assert "secret secret" not in repr(memo)


@pytest.mark.parametrize("answer", ["weekly", None, 7, ["once", "weekly"]])
def test_an_unknown_answer_is_never_shown_and_nothing_is_kept(tmp_path: Path, answer: Any) -> None:
    for memo in both_kinds(tmp_path, SURVEY):
        with pytest.raises(ValueError, match="answers must all be in the domain") as raised:
            SURVEY.report(answer, memo)
        assert "weekly" not in str(raised.value)
        assert not memo.used()


def test_a_design_that_is_not_memoized_needs_no_memo(tmp_path: Path) -> None:
    plain = RandomizedResponse(DOMAIN, epsilon=1)
    for make in (
        lambda design: Memo.create(tmp_path / "memo.json", design),
        lambda design: Memo.load(tmp_path / "memo.json", design),
        lambda design: Memo.from_secret(SECRET, design),
    ):
        with pytest.raises(TypeError, match="only memoized designs need a memo"):
            make(plain)
    assert not list(tmp_path.iterdir())


def test_rounds_of_several_people_with_memos_are_reports_of_the_chain(tmp_path: Path) -> None:
    # 2,000 people who all answer "once", each with a secret: the reports of one round follow the chain's p and q.
    people = [Memo.from_secret(hashlib.sha256(b"%d" % number).digest(), SURVEY) for number in range(2000)]
    counts = tally([SURVEY.report("once", person) for person in people], SURVEY).counts
    law = np.where(np.array(DOMAIN) == "once", SURVEY.p, SURVEY.q)
    assert (np.abs(counts - 2000 * law) <= 5 * np.sqrt(2000 * law * (1 - law))).all()


def test_every_design_has_a_fingerprint_of_its_own() -> None:
    designs: list[Design] = [SURVEY, SURVEY.first, SURVEY.second, SURVEY.once, BARE, bare_bits(3), bare_hashing(3, 3)]
    assert len({design.fingerprint() for design in designs}) == len(designs)
    # By hand: no spaces, fields by name, letters as they are.
    spelled = (
        '{"domain":["ä","b"],"format":"warner design","mechanism":"randomized response","odds":["3","1"],"version":1}'
    )
    assert RandomizedResponse(["ä", "b"], odds=(3, 1)).fingerprint() == hashlib.sha256(spelled.encode()).hexdigest()
