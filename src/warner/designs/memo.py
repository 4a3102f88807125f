"""Memo: permanent responses stored on one respondent's device, from which all reports start.

A memo is a file with permanent responses that were drawn from the operating system's randomness, or a secret of 32
bytes from which they are derived. The derived bytes are BLAKE2b with the secret as key, over the design's fingerprint,
the purpose, the memo key and a counter. Without the secret they are indistinguishable from random bytes, as far as is
known.

Both belong to one person and one design, and never leave the device: they reveal all reports of that person. The file
does not name answers: it holds a salted digest of each memo key. That hides the answers from a casual reader of the
file, not from an attacker who tries all possible answers.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from warner.designs.exact import double_not_below, log_ratio, shown_up
from warner.designs.memoized import Memoized
from warner.documents import FileLock, checked, document, loaded, parsed, resolved, save_text
from warner.text import counted

if TYPE_CHECKING:
    from warner.arrays import Counts, Integers, Label
    from warner.designs.contract import Design
    from warner.designs.draws import RandomBytes


FORMAT = "warner memo"
VERSION = 1
SECRET_BYTES = 32
DIGEST_BYTES = 16
BLAKE2_PERSON = b"warner memo"  # what keeps these hashes apart from all others, as BLAKE2b has it


@dataclass(frozen=True)
class Spent:
    """Total privacy loss of all reports of one respondent.

    It bounds how well the reports distinguish this person's history from any other with the same pattern of equal and
    different answers (under hashing, of hash values). That pattern itself is not protected.
    """

    keys: int  # memo keys used, each of which has a permanent response; all keys if `bound`
    # Not below the total privacy loss, `keys` times `eps_infinity`. Two such histories are distinguished by at most
    # `eps_infinity` for each key that differs.
    epsilon: float
    bound: bool  # used keys are not recorded, so that this is an upper bound
    text: str

    def __repr__(self) -> str:
        return self.text


class Memo(ABC):
    """Permanent state of one respondent's device for a memoized design: see `create`, `load` and `from_secret`.

    Examples
    --------
    >>> from warner.designs import Memoized
    >>> survey = Memoized.response(["never", "once", "often"], eps_infinity=2, eps_first=1)
    >>> memo = Memo.from_secret(bytes(range(32)), survey)  # really: secrets.token_bytes(32), kept
    >>> survey.report("once", memo) in survey.domain
    True
    >>> memo.spent()
    nothing is written down: at most epsilon 6, 2 for each of 3 answers, against any other history with the same pattern
    of equal and different answers
    """

    design: Memoized

    @staticmethod
    def create(path: str | os.PathLike[str], design: Design) -> FileMemo:
        """Create the file of a respondent who has not reported yet, readable by its owner only. It must not exist."""
        memo = FileMemo(_memoized(design), Path(path))
        with FileLock(resolved(path), wait=True):
            if Path(path).exists():
                raise FileExistsError(f"{path} already exists; load it, because a new memo would spend epsilon again")
            rounds = memo.design.rounds
            function = rounds.written_hash(rounds.hashes(1, os.urandom))
            memo.write(MemoContent(os.urandom(SECRET_BYTES), function, {}))
        return memo

    @staticmethod
    def load(path: str | os.PathLike[str], design: Design) -> FileMemo:
        """Open the file that `create` made for this design."""
        memo = FileMemo(_memoized(design), Path(path))
        memo.read()
        return memo

    @staticmethod
    def from_secret(secret: bytes, design: Design) -> SecretMemo:
        """Derive permanent responses from 32 secret bytes of this respondent, which are used for nothing else.

        They must be random (``secrets.token_bytes(32)``), must not follow from an identity, and must stay on the
        device.
        """
        if not isinstance(secret, bytes):
            raise TypeError(f"secret must be {SECRET_BYTES} random bytes, but got a {type(secret).__name__}")
        if len(secret) != SECRET_BYTES:
            raise ValueError(f"secret must be {SECRET_BYTES} random bytes, but got {len(secret)}")
        return SecretMemo(_memoized(design), secret)

    @abstractmethod
    def remembered(self, answers: Integers) -> tuple[Counts, Counts]:
        """Return the permanent response to each answer, and the hash function for each."""

    @abstractmethod
    def used(self) -> int | None:
        """Return the number of memo keys used so far; None if it is not recorded."""

    @cached_property
    def _fingerprint(self) -> str:
        return self.design.fingerprint()

    def draw(self, answers: Integers, random_bytes: RandomBytes) -> Counts:
        """Draw this respondent's next reports: permanent responses are kept, the second round is drawn."""
        if not answers.size:
            return self.design.draw(answers, random_bytes)  # no reports, in their own form
        return self.design.rounds.again(*self.remembered(answers), random_bytes)

    def spent(self) -> Spent:
        """Return the total privacy loss of this respondent's reports: ``eps_infinity`` for each memo key used.

        That is a bound against histories with the same pattern of equal and different keys; see ``Spent``.
        """
        rounds, used = self.design.rounds, self.used()
        keys = rounds.keys if used is None else used
        spent = keys * log_ratio(*self.design.first.ratio)
        start = "nothing is written down: at most " if used is None else ""
        each = f"{self.design.first.shown_epsilon()} for each of {counted(keys, rounds.key, rounds.keys_in_words)}"
        text = f"{start}epsilon {shown_up(spent, 4)}, {each}, against {rounds.neighboring_histories}"
        return Spent(keys, double_not_below(spent), used is None, text)


@dataclass(frozen=True)
class SecretMemo(Memo):
    """Permanent responses that follow from a secret."""

    design: Memoized
    secret: bytes = field(repr=False)

    def remembered(self, answers: Integers) -> tuple[Counts, Counts]:
        rounds = self.design.rounds
        functions = np.repeat(rounds.hashes(1, self._bytes(b"hash", b"")), answers.size, axis=0)
        keys, index = np.unique(rounds.keyed(answers, functions), return_inverse=True)
        drawn = [
            rounds.permanent(np.array([key]), self._bytes(b"permanent", key.to_bytes(8, "little")))
            for key in keys.tolist()
        ]
        return np.concatenate(drawn)[index], functions

    def used(self) -> int | None:
        return None

    def _bytes(self, purpose: bytes, key: bytes) -> RandomBytes:
        """Return a reproducible source of bytes: 64 of BLAKE2b for each value of a counter."""
        begun = hashlib.blake2b(bytes.fromhex(self._fingerprint), key=self.secret, person=BLAKE2_PERSON)
        begun.update(purpose + b"\0" + key)
        waiting = bytearray()
        counter = itertools.count()

        def derived(size: int) -> bytes:
            while len(waiting) < size:
                block = begun.copy()
                block.update(next(counter).to_bytes(8, "little"))
                waiting.extend(block.digest())
            taken = bytes(waiting[:size])
            del waiting[:size]
            return taken

        return derived


@dataclass(frozen=True)
class FileMemo(Memo):
    """Permanent responses that were drawn once and are kept in a file, which is a ledger of the keys, too."""

    design: Memoized
    path: Path

    def remembered(self, answers: Integers, *, locked: bool = False) -> tuple[Counts, Counts]:
        """Look responses up; new ones are drawn, and written to the file before they are returned."""
        rounds, kept = self.design.rounds, self.read()
        functions = rounds.read_hash(kept.function, answers.size)
        assert functions is not None
        keys, index = np.unique(rounds.keyed(answers, functions), return_inverse=True)
        digests = {_digest(kept.salt, key): key for key in keys.tolist()}
        new = [digest for digest in digests if digest not in kept.responses]
        if new and not locked:  # two processes would draw two responses to one key
            with FileLock(resolved(self.path), wait=True):
                return self.remembered(answers, locked=True)  # again, since another one may have drawn in between
        if new:
            drawn = rounds.permanent(np.array([digests[digest] for digest in new]), os.urandom)
            responses = dict(zip(new, rounds.form.written(drawn).tolist(), strict=True))
            kept = kept._replace(responses=kept.responses | responses)
            self.write(kept)
        return rounds.form.read([kept.responses[digest] for digest in digests]).reports[index], functions

    def used(self) -> int | None:
        return len(self.read().responses)

    def read(self) -> MemoContent:
        """Read the file; a damaged file, or a file of another design, raises an error."""
        return loaded(self.path, self._parsed)

    def write(self, kept: MemoContent) -> None:
        """Write the file atomically, for its owner only, in the order of digests, which reveals nothing."""
        fields = {
            "format": FORMAT,
            "version": VERSION,
            "design": self._fingerprint,
            "salt": kept.salt.hex(),
            "hash": kept.function,
            "permanent": dict(sorted(kept.responses.items())),
        }
        save_text(self.path, document(fields), private=True)

    def _parsed(self, text: str) -> MemoContent:
        fields = checked(parsed(text, FORMAT), FORMAT, VERSION, {"design", "salt", "hash", "permanent"})
        if fields["design"] != self._fingerprint:
            raise ValueError("this memo belongs to another design; every design needs a memo of its own")
        salt, function, responses = fields["salt"], fields["hash"], fields["permanent"]
        rounds = self.design.rounds
        fits = (
            _is_hexadecimal(salt, SECRET_BYTES)
            and rounds.read_hash(function, 1) is not None
            and isinstance(responses, dict)
            and len(responses) <= rounds.keys
            and all(_is_hexadecimal(digest, DIGEST_BYTES) for digest in responses)
            and all(isinstance(response, str | int) for response in responses.values())
            and not rounds.form.read(list(responses.values())).status.any()
        )
        if not fits:
            raise ValueError("this memo is damaged: salt, hash or permanent responses are not as they were written")
        return MemoContent(bytes.fromhex(salt), function, responses)


class MemoContent(NamedTuple):
    """Content of a memo file: the salt of its digests, the respondent's hash function, the permanent responses."""

    salt: bytes
    function: Label
    responses: dict[str, Label]


def _memoized(design: Design) -> Memoized:
    if not isinstance(design, Memoized):
        raise TypeError(f"only memoized designs need a memo, but got {design!r}, which draws each report afresh")
    return design


def _digest(salt: bytes, key: int) -> str:
    return hashlib.blake2b(
        key.to_bytes(8, "little"), key=salt, digest_size=DIGEST_BYTES, person=BLAKE2_PERSON
    ).hexdigest()


def _is_hexadecimal(text: object, size: int) -> bool:
    return isinstance(text, str) and len(text) == 2 * size and set(text) <= set("0123456789abcdef")
