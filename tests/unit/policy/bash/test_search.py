"""Which files the actions of `find` are for."""

import shlex

import pytest

from supervisor.policy.bash.path_regex import MOST_GLOBS, path_globs
from supervisor.policy.bash.search import globs_of, search
from supervisor.policy.bash.value import known


def chosen(command: str) -> list[str]:
    """Globs of what the last action of a search is for; `*` for any file."""
    found = search([known(each) for each in shlex.split(command)])
    ways = found.actions[-1][2] if found.actions else found.all
    return [each for way in ways for each in globs_of([way], ".") or ["*"]]


@pytest.mark.parametrize(
    ("expression", "globs"),
    [
        ("-name a -delete", ["a"]),
        ("-name a -o -name b -delete", ["b"]),
        (r"\( -name a -o -name b \) -delete", ["a", "b"]),
        ("-name a -prune -o -name '*.py' -delete", ["*.py"]),
        ("-name a -name b -delete", []),
        ("-name '*.py' -name a.py -delete", ["a.py"]),
        ("! -name a -delete", ["*"]),
        ("! ! -name a -delete", ["a"]),
        (r"-not \( -name a -o -not -name b \) -delete", ["b"]),
        ("-name a ! -name a -delete", []),
        ("-name a , -name b -delete", ["b"]),
        ("-type f -a -name a -exec cat {} ;", ["a"]),
        ("-exec test x ; -name a -exec cat {} +", ["a"]),
        ("-false -o -name a", ["a"]),
        ("-path './x/*' -name a -delete", ["./x/a"]),
        ("-path '*/x/*' -delete", ["x/*"]),
        ("-path '*' -delete", ["*"]),
        (r"-regex '\./x/.*\.py' -delete", ["./x/*.py"]),
        (r"-regextype egrep -regex '\./(a|b)' -delete", ["./a", "./b"]),
        ("-maxdepth 1 -name a", ["a"]),
    ],
)
def test_an_action_is_for_what_comes_to_it(expression: str, globs: list[str]) -> None:
    assert chosen(f"find . {expression}") == globs


@pytest.mark.parametrize(
    ("expression", "extended", "globs"),
    [
        (r".*\.py$", False, ("*.py",)),
        (r"\(a\|b\)c", False, ("ac", "bc")),
        ("(a|b)c", False, ("(a|b)c",)),
        ("(a|b)?c", True, ("c", "ac", "bc")),
        ("x+[0-9]", True, ("x*[0-9]",)),
        ("[^a]b", True, ("[!a]b",)),
        ("a{2,3}", True, ("*",)),
        (r"a\*", False, (r"a\*",)),
    ],
)
def test_an_expression_becomes_globs_that_fit_as_much(
    expression: str, globs: tuple[str, ...], *, extended: bool
) -> None:
    assert path_globs(expression, extended=extended) == globs


@pytest.mark.parametrize("expression", ["(a", "a)", "[a", "a\\", "[[:x:]]", "(a|b)" * 9, "(" * 99])
def test_an_expression_that_is_too_hard_is_said_to_be(expression: str) -> None:
    assert MOST_GLOBS < 2**9
    assert path_globs(expression, extended=True) == ()


def test_a_search_of_many_names_stays_bounded_and_keeps_the_hidden_one() -> None:
    names = " -o ".join(f"-name n{number}" for number in range(2_000))
    ways = search([known(each) for each in f"find . {names} -o -name .env".split()]).all
    assert len(ways) < 300
    assert ".env" in globs_of(ways, ".")


@pytest.mark.parametrize(
    ("test", "start", "folder"),
    [
        ("-path './build/*'", ".", "./build"),
        ("-wholename './build/a/*.o'", "./", "./build/a"),
        ("-path 'src/gen/*'", "src", "src/gen"),
        ("-path '/usr/lib/*'", "/", "/usr/lib"),
        ("-path 'build/*'", ".", None),
        ("-path './*'", ".", None),
        ("-path './../*'", ".", None),
        ("-path './b*/x/*'", ".", None),
        ("-path '*'", ".", None),
        ("-path './build'", ".", None),
        ("-ipath './build/*'", ".", None),
        ("-not -path './build/*'", ".", None),
    ],
)
def test_a_path_tells_the_folder_that_its_files_lie_in(
    test: str, start: str, folder: str | None
) -> None:
    (way,) = search([known(each) for each in shlex.split(f"find {start} {test}")]).all
    assert way.folder(start) == folder


@pytest.mark.parametrize(
    ("glob", "anywhere"),
    [
        ("*/dist/*", "**/dist/**"),
        ("*/a/*/b/*", "**/a/**/b/**"),
        ("*/dist/*.map", None),
        ("*/d*/*", None),
        ("*/../*", None),
        ("*/*", None),
        ("*", None),
        ("dist", None),
        ("./dist/*", None),
    ],
)
def test_a_path_tells_a_folder_that_may_lie_anywhere(glob: str, anywhere: str | None) -> None:
    (way,) = search([known(each) for each in ("find", ".", "-path", glob)]).all
    assert way.anywhere == anywhere
