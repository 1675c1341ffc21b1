"""Masking before anything is stored or published: secrets, user names in paths, host names, URL credentials.

Works on a reader's records, so that pages, downloads, store and packs never see the originals.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from mkdocs_sweepprof.levels import matches
from mkdocs_sweepprof.readers.base import Event, Problem, Reading, Run, Scalar

MASK = "(masked)"
USER = "(user)"
HOST = "(host)"

_SECRET_WORDS = frozenset({"password", "passwd", "passphrase", "secret", "secrets", "credential", "credentials", "pwd"})
_SECRET_PAIRS = (
    ("api", "key"),
    ("apikey",),
    ("access", "key"),
    ("private", "key"),
    ("secret", "key"),
    ("ssh", "key"),
    ("auth", "token"),
    ("authorization",),
    ("bearer",),
    ("webhook",),
    ("dsn",),
)
_HOST_WORDS = frozenset({"host", "hostname", "hosts", "nodename", "nodelist", "fqdn", "ip"})
_HOST_PAIRS = (("master", "addr"), ("master", "address"), ("node", "name"), ("node", "list"), ("computer", "name"))
_USER_WORDS = frozenset({"user", "username", "email", "owner", "login"})

# Well-known shapes of keys; each is long enough not to be a word.
_SHAPES = re.compile(
    r"""(?x)
    (?<![A-Za-z0-9])(?:  # also behind an underscore: by_hf_…
        hf_[A-Za-z0-9]{20,} | sk-[A-Za-z0-9_-]{20,} | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,}
      | glpat-[A-Za-z0-9_-]{16,} | xox[abeoprs]-[A-Za-z0-9-]{10,} | AKIA[0-9A-Z]{16} | ASIA[0-9A-Z]{16}
      | AIza[0-9A-Za-z_-]{30,} | (?<![_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+
      | npm_[A-Za-z0-9]{30,}
      | pypi-[A-Za-z0-9_-]{30,} | ya29\.[A-Za-z0-9_-]{20,} | hooks\.slack\.com/services/[A-Za-z0-9/]{20,}
      | [Bb]earer[ ]+(?=[A-Za-z._~+/=-]{0,60}[0-9])[A-Za-z0-9._~+/=-]{16,}
      | wandb_v1_[A-Za-z0-9_-]{20,} | local-[0-9a-f]{40}
    )
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----.*?(?:-----END[ ][A-Z ]*PRIVATE[ ]KEY-----|\Z)
    """,
    re.DOTALL,
)
_URL_LOGIN = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,20}://)(?P<login>[^/?#\s]+)@")
_URL_QUERY = re.compile(
    r"(?P<key>[?&;](?:[A-Za-z0-9_-]{0,40}(?:token|key|secret|password|signature|sig|credential)[A-Za-z0-9_-]{0,40})=)[^&#\s]+",
    re.IGNORECASE,
)
# `password=x`, `--api-key x` and `"password": "x"`, as they stand in command lines, environments and JSON texts. What
# comes before the word is no part of the pattern, or long values of dots and dashes would take very long.
_INLINE = re.compile(
    r"(?:passw(?:or)?d|passphrase|secret|credentials?|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?token)"
    r"(?:(?P<assigned>\\?[\"']?\]?\s{0,9}[=:]\s{0,9})|(?P<spaced>\\?[\"']?,?\s{1,9}))"
    r"(?P<value>\(masked\)|(?P<quote>\\[\"']).*?(?:(?P=quote)|\Z)"
    r"|\"(?:[^\"\\]|\\.)*(?:\"|\\?\Z)|'(?:[^'\\]|\\.)*(?:'|\\?\Z)|[^\s,;\"'}\])\\]+)",
    re.IGNORECASE | re.DOTALL,
)
# A *token* or *pat* is a secret only when its value looks like one: `pad_token=<pad>` and `max_token=512` are shown.
_INLINE_TOKEN = re.compile(
    r"(?:token|[_-]pat)(?:\\?[\"']?\s{0,9}[=:]\s{0,9}\\?[\"']?|\s{1,9})(?P<value>[A-Za-z0-9_\-+/=.]{16,})",
    re.IGNORECASE,
)
_FLAG = re.compile(r"(?:^|[\s\"'\[,])--?[A-Za-z0-9_.-]*$")
_HOME = re.compile(
    r"(?P<lead>(?:/home|/Users|/users|[A-Za-z]:[\\/]+Users|/u|/scratch|/data/users|/nfs/home|/export/home)[\\/]+)"
    r"(?P<user>[^\\/\s:\"',;]+)"
)
_NOT_USERS = frozenset({"shared", "public", "Shared", "Public", "data", "runs", "tmp", "projects", "project", USER})
_TFEVENTS = re.compile(r"(?P<lead>tfevents\.\d+\.)(?P<host>[A-Za-z0-9][A-Za-z0-9.-]{0,100}?)(?=\.\d+\.\d+|\.v2|$|\s)")
_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])")
_TOKENISH = re.compile(r"^[A-Za-z0-9_\-+/=.:]{16,}$")


# What a field's name says is asked of every run, and the names are few.
_per_name = lru_cache(maxsize=20_000)


@_per_name
def _words(name: str) -> tuple[str, ...]:
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name.rpartition(".")[2])
    return tuple(w for w in re.split(r"[^A-Za-z0-9]+", spaced.lower()) if w)


def _pair(words: Sequence[str], pairs: Iterable[Sequence[str]]) -> bool:
    return any(tuple(words[i : i + len(p)]) == tuple(p) for p in pairs for i in range(len(words)))


@_per_name
def _secret_name(name: str) -> bool:
    words = _words(name)
    return bool(_SECRET_WORDS & set(words)) or _pair(words, _SECRET_PAIRS)


def secret_field(name: str, value: Scalar) -> bool:
    """Whether a field holds a secret, by its name and the look of its value.

    ``use_cls_token: true``, ``pad_token: "<pad>"`` and ``num_tokens: 512`` are harmless: a name that ends in *token*
    or *key* is a secret only with a value that looks like one.
    """
    if value is None or isinstance(value, bool) or value in ("", MASK):
        return False
    words = _words(name)
    if not words:
        return False
    if _secret_name(name):
        return True
    if words[-1] in ("token", "tokens", "key", "keys", "pat"):
        return isinstance(value, str) and bool(_TOKENISH.match(value)) and any(c.isdigit() for c in value)
    return False


class Redactor:
    """Masks one collection's records.

    Args:
        publish: fields shown although they look like secrets (globs).
        redact: further fields to mask (globs).

    Names learned from one record (a user from a home folder, a host from an event file's name) are masked in all
    records of the same call to :meth:`reading`.
    """

    def __init__(self, publish: Sequence[str] = (), redact: Sequence[str] = ()) -> None:
        self.publish = tuple(publish)
        self.redact = tuple(redact)
        self._last: tuple[frozenset[tuple[str, str]], Callable[[str], str]] | None = None
        """The names and the mask of the last call: most records teach the same names, or none."""

    def reading(self, reading: Reading) -> Reading:
        """A masked copy of what a reader gave."""
        names = self._learn(reading)
        if self._last is None or self._last[0] != names:
            self._last = names, self._masker(names)
        mask = self._last[1]
        return Reading(
            [self._run(r, mask) for r in reading.runs],
            [
                replace(
                    p,
                    path=mask(p.path),
                    message=mask(p.message),
                    remedy=mask(p.remedy),
                    run=mask(p.run) if p.run else None,
                )
                for p in reading.problems
            ],
            [mask(m) for m in reading.mentions],
        )

    def text(self, text: str) -> str:
        """One text masked by its own look alone."""
        return self._masker(frozenset())(text)

    def link(self, template: str) -> str:
        """An address masked so that it still leads there: without its login, and without the values of secrets."""
        return self.text(_URL_LOGIN.sub(r"\g<scheme>", template))

    def problem(self, problem: Problem) -> Problem:
        return replace(problem, message=self.text(problem.message), remedy=self.text(problem.remedy))

    @property
    def key(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What decides the masking, for cache keys."""
        return self.publish, self.redact

    # --- inside ------------------------------------------------------------------------------------------------

    def _learn(self, reading: Reading) -> frozenset[tuple[str, str]]:
        names: set[tuple[str, str]] = set()
        for run in reading.runs:
            for key, value in run.config.items():
                if isinstance(value, str) and not matches(key, self.publish):
                    if _names_host(key) and _host_like(value):
                        names |= {(value, HOST)} if _name_like(value) else {(h, HOST) for h in _hosts(value)}
                    if _names_user(key) and _name_like(value):
                        names.add((value, USER))
                    names |= {(m["user"], USER) for m in _HOME.finditer(value) if m["user"] not in _NOT_USERS}
            for text in (*run.files, run.id, run.directory or ""):
                names |= {(m["host"], HOST) for m in _TFEVENTS.finditer(text)}
        return frozenset(
            n for n in names if len(n[0]) > 2 and n[0].lower() not in ("localhost", "root", "none", "true")
        )

    def _masker(self, names: frozenset[tuple[str, str]]) -> Callable[[str], str]:
        learned = sorted(names, key=lambda n: (-len(n[0]), n))
        words = [(re.compile(rf"(?<![A-Za-z0-9]){re.escape(n)}(?![A-Za-z0-9])"), label) for n, label in learned]

        @lru_cache(maxsize=100_000)  # a sweep says the same few things in every run
        def mask(text: str) -> str:
            # Half a surrogate pair (an odd file name, a JSON escape) can be written to no file.
            out = text.encode("utf-8", "replace").decode()
            out = _URL_LOGIN.sub(rf"\g<scheme>{MASK}@", out)
            out = _URL_QUERY.sub(rf"\g<key>{MASK}", out)
            out = _SHAPES.sub(MASK, out)
            out = _INLINE.sub(_mask_inline, out)
            out = _INLINE_TOKEN.sub(_mask_token, out)
            out = _HOME.sub(lambda m: m["lead"] + (m["user"] if m["user"] in _NOT_USERS else USER), out)
            out = _TFEVENTS.sub(rf"\g<lead>{HOST}", out)
            out = _IPV4.sub(lambda m: HOST if _is_ip(m[0]) else m[0], out)
            for pattern, label in words:
                out = pattern.sub(label, out)
            return out

        return mask

    def _value(self, name: str, value: Scalar, mask: Callable[[str], str]) -> Scalar:
        if matches(name, self.redact):
            return MASK
        if matches(name, self.publish):
            return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        if secret_field(name, value):
            return MASK
        if isinstance(value, str):
            if _names_host(name) and _host_like(value):
                return HOST
            if _names_user(name) and _name_like(value):
                return USER
            return mask(value)
        return value

    def _run(self, run: Run, mask: Callable[[str], str]) -> Run:
        return replace(
            run,
            id=mask(run.id),
            directory=mask(run.directory) if run.directory else run.directory,
            aliases=tuple(mask(a) for a in run.aliases),
            config={mask(k): self._value(k, v, mask) for k, v in run.config.items()},
            compare_by=mask(run.compare_by) if run.compare_by else None,
            resources={k: self._value(k, v, mask) for k, v in run.resources.items()},
            sections=[replace(s, path=mask(s.path)) for s in run.sections],
            events=[
                Event(e.time, mask(e.event), mask(e.name) if e.name else e.name, e.step, e.epoch, e.status)
                for e in run.events
            ],
            files=tuple(mask(f) for f in run.files),
            notes=tuple(mask(n) for n in run.notes),
        )


@_per_name
def _names_host(field: str) -> bool:
    """A field for a machine's name, by its last word: ``db_host``, not ``ip_adapter``."""
    words = _words(field)
    return bool(words) and (words[-1] in _HOST_WORDS or _pair(words[-2:], _HOST_PAIRS))


@_per_name
def _names_user(field: str) -> bool:
    """A field for a person's name, by its last word: ``job_user``, not ``user_prompt``."""
    words = _words(field)
    return bool(words) and words[-1] in _USER_WORDS


def _host_like(value: str) -> bool:
    """A host's name or address, or several: ``gpu[01-04],gpu07``, ``10.0.0.1:29500``."""
    return bool(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._@+\-\[\],: ]*", value)) and not value.isdigit()


def _hosts(value: str) -> list[str]:
    """The single names in a list of hosts; what brackets stand for is not written out."""
    return [h for h in re.split(r"[,\s]+", re.sub(r"\[[^\]]*\]", "", value)) if _name_like(h)]


def _mask_inline(match: re.Match[str]) -> str:
    value = match["value"]
    before = match.string[max(0, match.start() - 60) : match.start()]
    if match["spaced"] is not None and (value.startswith("-") or not _FLAG.search(before)):
        return match[0]  # words in a sentence
    quote = match["quote"] or (value[0] if value[0] in "\"'" else "")
    return f"{match[0].removesuffix(value)}{quote}{MASK}{quote}"


def _mask_token(match: re.Match[str]) -> str:
    value = match["value"]
    return match[0].removesuffix(value) + MASK if any(c.isdigit() for c in value) else match[0]


def _name_like(value: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._@+-]*", value)) and not value.isdigit()


def _is_ip(text: str) -> bool:
    parts = [int(p) for p in text.split(".")]
    # Version numbers such as 1.2.3.4 are rarely addresses; loopback and wildcard say nothing.
    return all(p < 256 for p in parts) and parts[0] not in (0, 127) and max(parts) > 31
