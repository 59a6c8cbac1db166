"""Programs nobody wrote for dvm: pure-Python functions of the standard library, called plainly.

Each entry takes no argument and returns something whose repr is the same in every run.
"""

# ruff: noqa: ARG001, ARG002  (the programs are what they are)
from __future__ import annotations

import ast
import base64
import bisect
import calendar
import cmath
import collections
import colorsys
import configparser
import contextlib
import copy
import csv
import dataclasses
import datetime
import decimal
import difflib
import enum
import fnmatch
import fractions
import functools
import graphlib
import heapq
import html
import html.parser
import inspect
import io
import ipaddress
import itertools
import json
import json.decoder
import json.encoder
import json.scanner
import keyword
import locale
import numbers
import operator
import pathlib
import posixpath
import pprint
import queue
import quopri
import random
import re
import reprlib
import shlex
import statistics
import string
import struct
import tempfile
import textwrap
import tokenize
import types
import typing
import urllib.parse
import uuid
from collections.abc import Callable
from typing import Any

DATA = [2.5, 3.25, 5.5, 11.25, 11.5, 4.0]
TEXT = "The quick brown fox jumps over the lazy dog. " * 3
NESTED = {"a": [1, 2.5, None, True], "b": {"c": "text \u00e9", "d": ()}}
PURE_ENCODER = json.encoder._make_iterencode  # type: ignore[attr-defined]


@dataclasses.dataclass(order=True)
class Point:
    x: int
    y: int = 2
    tags: list[str] = dataclasses.field(default_factory=list)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Permission(enum.Flag):
    READ = 1
    WRITE = 2


class Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)


class Node(typing.NamedTuple):
    name: str
    size: int = 0


def _parsed_html() -> Any:
    parser = Tags()
    parser.feed("<p><b>x</b></p>")
    return parser.seen


def _csv_rows() -> Any:
    out = io.StringIO()
    writer = csv.DictWriter(out, ["a", "b"])
    writer.writeheader()
    writer.writerow({"a": 1, "b": "x,y"})
    return list(csv.DictReader(io.StringIO(out.getvalue())))


def _config() -> Any:
    parser = configparser.ConfigParser()
    parser.read_string("[one]\nkey = value\nother = %(key)s!\n")
    return parser.get("one", "other"), parser.sections()


def _pushed() -> Any:
    heap = [5, 3, 8, 1]
    heapq._heapify_max(heap)  # type: ignore[attr-defined]
    return list(heapq.merge([1, 4], [2, 3])), heapq.nsmallest(2, heap, key=lambda x: -x)


def _exit_stack() -> Any:
    log: list[str] = []
    with contextlib.ExitStack() as stack:
        stack.callback(log.append, "closed")
        log.append("open")
    return log


def _suppressed() -> Any:
    with contextlib.suppress(KeyError):
        {}["missing"]
    return "done"


def _chain_map() -> Any:
    both = collections.ChainMap({"a": 1}, {"b": 2})
    return both["b"], sorted(both), both.new_child({"c": 3})["c"]


def _ordered() -> Any:
    counter = collections.Counter("abracadabra")
    counter.update("xyz")
    return counter.most_common(2), sorted((counter - collections.Counter("ab")).items())


def _topological() -> Any:
    return list(
        graphlib.TopologicalSorter({"d": {"b", "c"}, "b": {"a"}, "c": {"b"}}).static_order()
    )


def _generic_dispatch() -> Any:
    @functools.singledispatch
    def show(x: Any) -> str:
        return "any"

    @show.register
    def _(x: int) -> str:
        return "int"

    return show(1), show("x")


def _cached() -> Any:
    class Lazy:
        @functools.cached_property
        def value(self) -> int:
            return 7

    lazy = Lazy()
    return lazy.value, lazy.value


def _ordering() -> Any:
    @functools.total_ordering
    class Size:
        def __init__(self, n: int) -> None:
            self.n = n

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Size) and self.n == other.n

        def __lt__(self, other: Any) -> bool:
            return bool(self.n < other.n)

    return Size(1) <= Size(2), Size(2) > Size(1), Size(2) >= Size(3)


def _user_containers() -> Any:
    words = collections.UserList(["b", "a"])
    words.append("c")
    table = collections.UserDict({"x": 1})
    table["y"] = 2
    return sorted(words), dict(table), collections.UserString("abc").upper()


def _queued() -> Any:
    items: queue.Queue[int] = queue.Queue()
    items.put(3)
    items.put(4)
    return items.get(), items.qsize()


def _paths() -> Any:
    path = pathlib.PurePosixPath("/usr/lib") / "python3" / "x.py"
    return str(path), path.suffix, path.parent.name, path.relative_to("/usr").parts


def _tokens() -> Any:
    return [t.string for t in tokenize.generate_tokens(io.StringIO("a = b + 1\n").readline)]


def _copies() -> Any:
    shared: list[Any] = [1]
    shared.append(shared)
    twin = copy.deepcopy(shared)
    return twin[1] is twin, copy.copy(Point(1)), copy.deepcopy(NESTED)


def _spooled() -> Any:
    with tempfile.SpooledTemporaryFile(max_size=100) as file:
        file.write(b"abc")
        file.seek(0)
        return file.read()


STRANGERS: dict[str, Callable[[], Any]] = {
    "statistics.mean": lambda: statistics.mean(DATA),
    "statistics.fmean": lambda: statistics.fmean(DATA),
    "statistics.median": lambda: statistics.median(DATA),
    "statistics.median_grouped": lambda: statistics.median_grouped([1, 2, 2, 3, 4]),
    "statistics.mode": lambda: statistics.mode([1, 1, 2]),
    "statistics.multimode": lambda: statistics.multimode("aabbc"),
    "statistics.stdev": lambda: statistics.stdev(DATA),
    "statistics.pvariance": lambda: statistics.pvariance(DATA),
    "statistics.quantiles": lambda: statistics.quantiles(DATA, n=4),
    "statistics.harmonic_mean": lambda: statistics.harmonic_mean([40, 60]),
    "statistics.geometric_mean": lambda: statistics.geometric_mean([4, 9]),
    "statistics.linear_regression": lambda: statistics.linear_regression([1, 2, 3], [2, 4, 7]),
    "statistics.correlation": lambda: statistics.correlation([1, 2, 3], [2, 4, 7]),
    "statistics.NormalDist": lambda: statistics.NormalDist(1, 2).inv_cdf(0.3),
    "statistics.normal sum": lambda: statistics.NormalDist(1, 2) + statistics.NormalDist(0, 1),
    "statistics.mean of nothing": lambda: statistics.mean([]),
    "fractions.from float": lambda: fractions.Fraction(0.375),
    "fractions.from text": lambda: fractions.Fraction("3/4") + fractions.Fraction("1.25"),
    "fractions.arithmetic": lambda: fractions.Fraction(1, 3) * 3 - fractions.Fraction(1, 7) ** 2,
    "fractions.limit": lambda: fractions.Fraction(3.14159).limit_denominator(100),
    "fractions.compare": lambda: fractions.Fraction(1, 3) < 0.5 <= fractions.Fraction(1, 2),
    "fractions.divmod": lambda: divmod(fractions.Fraction(7, 2), fractions.Fraction(2, 3)),
    "fractions.zero": lambda: fractions.Fraction(1, 0),
    "textwrap.wrap": lambda: textwrap.wrap(TEXT, 30),
    "textwrap.fill": lambda: textwrap.fill(TEXT, 40, initial_indent="* "),
    "textwrap.dedent": lambda: textwrap.dedent("   a\n    b\n   c"),
    "textwrap.indent": lambda: textwrap.indent("a\nb\n", "> "),
    "textwrap.shorten": lambda: textwrap.shorten(TEXT, 30),
    "json.dumps": lambda: json.dumps(NESTED, indent=2, sort_keys=True),
    "json.pure encoder": lambda: "".join(
        PURE_ENCODER(
            {}, None, json.encoder.py_encode_basestring, "  ", repr, ": ", ", ", True, False, False
        )(NESTED, 0)
    ),
    "json.loads": lambda: json.loads('{"a": [1, 2.5, "x"]}'),
    "json.pure scanner": lambda: json.scanner.py_make_scanner(json.decoder.JSONDecoder())(
        '{"a": [1, -2.5e3, "x", null]}', 0
    ),
    "json.pure string": lambda: json.decoder.py_scanstring('a\\n\\u00e9"', 0),
    "json.error": lambda: json.loads("{"),
    "difflib.ndiff": lambda: list(difflib.ndiff(["a", "b", "c"], ["a", "x", "c"])),
    "difflib.unified": lambda: list(difflib.unified_diff(["a", "b"], ["a", "c"])),
    "difflib.ratio": lambda: difflib.SequenceMatcher(None, "abcd", "bcde").ratio(),
    "difflib.matches": lambda: difflib.get_close_matches("appel", ["ape", "apple", "peach"]),
    "heapq.merge": _pushed,
    "heapq.nlargest": lambda: heapq.nlargest(2, [4, 1, 7, 3]),
    "bisect": lambda: bisect.bisect([1, 3, 5], 3),
    "calendar.month": lambda: calendar.month(2024, 2),
    "calendar.weeks": lambda: calendar.Calendar().monthdayscalendar(2023, 5),
    "calendar.leap": lambda: calendar.leapdays(1900, 2024),
    "colorsys": lambda: colorsys.hsv_to_rgb(*colorsys.rgb_to_hsv(0.2, 0.4, 0.6)),
    "colorsys.hls": lambda: colorsys.rgb_to_hls(0.2, 0.4, 0.6),
    "configparser": _config,
    "contextlib.ExitStack": _exit_stack,
    "contextlib.suppress": _suppressed,
    "copy": _copies,
    "csv": _csv_rows,
    "csv.sniff": lambda: csv.Sniffer().sniff("a;b;c\n1;2;3\n").delimiter,
    "collections.ChainMap": _chain_map,
    "collections.Counter": _ordered,
    "collections.namedtuple": lambda: collections.namedtuple("P", "x y")(1, 2)._replace(x=3),
    "collections.User": _user_containers,
    "dataclasses.new": lambda: Point(1, tags=["t"]),
    "dataclasses.compare": lambda: (Point(1) < Point(2), Point(1) == Point(1, 2)),
    "dataclasses.asdict": lambda: dataclasses.asdict(Point(1)),
    "dataclasses.replace": lambda: dataclasses.replace(Point(1), y=5),
    "datetime": lambda: datetime.datetime(2024, 2, 29) + datetime.timedelta(days=366),
    "decimal": lambda: decimal.Decimal("1.1") / 3,
    "enum.by value": lambda: (Colour(2), Colour["RED"], list(Colour)),
    "enum.flag": lambda: (Permission.READ | Permission.WRITE, Permission(3) & Permission.READ),
    "enum.missing": lambda: Colour(7),
    "fnmatch": lambda: fnmatch.filter(["a.py", "b.txt"], "*.py"),
    "functools.singledispatch": _generic_dispatch,
    "functools.cached_property": _cached,
    "functools.total_ordering": _ordering,
    "functools.reduce": lambda: functools.reduce(operator.add, [1, 2, 3]),
    "functools.cmp_to_key": lambda: sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a)),
    "graphlib": _topological,
    "html.escape": lambda: html.unescape(html.escape("<a & 'b'>")),
    "html.parser": _parsed_html,
    "inspect.signature": lambda: str(inspect.signature(_config)),
    "inspect.cleandoc": lambda: inspect.cleandoc("a\n    b\n    c"),
    "ipaddress": lambda: list(ipaddress.ip_network("10.0.0.0/30").hosts()),
    "ipaddress.v6": lambda: str(ipaddress.ip_address("2001:db8::1")),
    "ipaddress.error": lambda: ipaddress.ip_address("x"),
    "itertools": lambda: list(itertools.starmap(pow, [(2, 3), (3, 2)])),
    "keyword": lambda: keyword.iskeyword("for"),
    "locale": lambda: locale.delocalize("1,5"),
    "numbers": lambda: isinstance(3, numbers.Rational),
    "posixpath.normpath": lambda: posixpath.normpath("/a/../b/./c//d"),
    "posixpath.relpath": lambda: posixpath.relpath("/a/b", "/a/c"),
    "posixpath.common": lambda: posixpath.commonpath(["/a/b/c", "/a/b/d"]),
    "pathlib": _paths,
    "pprint": lambda: pprint.pformat(NESTED, width=20),
    "queue": _queued,
    "quopri": lambda: quopri.encodestring(b"a=b\xe9"),
    "base64.b85": lambda: base64.b85decode(base64.b85encode(b"hello")),
    "base64.b32": lambda: base64.b32encode(b"hello"),
    "cmath": lambda: cmath.polar(1 + 1j),
    "random.seeded": lambda: random.Random(3).sample(range(100), 5),
    "random.shuffle": lambda: random.Random(3).choices("abc", weights=[1, 2, 3], k=4),
    "random.gauss": lambda: random.Random(1).gauss(0, 1),
    "re.compile": lambda: re.compile(r"(\d+)-(?P<b>[a-z]*)strangers?").pattern,
    "re.sub": lambda: re.sub(r"(\w+) (\w+)", r"\2 \1", "hello world"),
    "reprlib": lambda: reprlib.repr(list(range(100))),
    "shlex": lambda: shlex.split("a 'b c' d\\ e # no", comments=True),
    "shlex.join": lambda: shlex.join(["a b", "c"]),
    "string.Template": lambda: string.Template("$a and ${b}").substitute(a=1, b=2),
    "string.Formatter": lambda: string.Formatter().format("{0:>5} {x!r}", "a", x="b"),
    "string.capwords": lambda: string.capwords("hello  big world"),
    "struct": lambda: struct.unpack("<ih", struct.pack("<ih", 1, 2)),
    "tempfile": _spooled,
    "tokenize": _tokens,
    "ast.literal_eval": lambda: ast.literal_eval("[1, {'a': (2, -3)}]"),
    "ast.unparse": lambda: ast.unparse(ast.parse("def f(x): return x + 1 if x else 2")),
    "ast.dump": lambda: ast.dump(ast.parse("a = 1")),
    "types": lambda: types.SimpleNamespace(a=1),
    "typing.NamedTuple": lambda: Node("n")._asdict(),
    "typing.hints": lambda: sorted(typing.get_type_hints(Point)),
    "urllib.parse": lambda: urllib.parse.urlsplit("http://u@host:80/p?q=1#f").port,
    "urllib.quote": lambda: urllib.parse.quote("a b/\u00e9?"),
    "urllib.query": lambda: urllib.parse.parse_qs("a=1&b=2&a=3"),
    "urllib.join": lambda: urllib.parse.urljoin("http://a/b/c", "../d"),
    "urllib.encode": lambda: urllib.parse.urlencode({"a": [1, 2]}, doseq=True),
    "uuid": lambda: uuid.uuid5(uuid.NAMESPACE_DNS, "python.org"),
}
