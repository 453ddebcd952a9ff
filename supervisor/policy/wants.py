"""What a decision must know of the file system before it can be made, as values."""

from supervisor.policy.bash.effect import Analysis
from supervisor.policy.call import Use
from supervisor.policy.record import record


@record
class Scan:
    """A search that reads the files below a folder: only those that `only` matches, if it says.

    `everything`: nothing is left out, as the CLI's own search leaves out folders of version
    control.
    """

    only: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    everything: bool = False


@record
class Wanted:
    """One text that names a path; relative ones start at `cwd`, or the call's working directory.

    `effect` is the index of the effect it comes from. `pattern` is set where a shell would match
    it against file names; `changes` where the effect may remove or change what is there.
    """

    text: str
    use: Use
    scan: Scan | None = None
    effect: int | None = None
    cwd: str | None = None
    pattern: str | None = None
    changes: bool = False


@record
class Wants:
    """What a call names. `patterns` are judged by themselves; the paths need facts.

    `analysis` is what a shell command does, `addresses` the web addresses that are fetched.
    `problem` says why the input can't be what the tool takes, `doubt` what couldn't be looked at.
    """

    paths: tuple[Wanted, ...] = ()
    patterns: tuple[str, ...] = ()
    problem: str | None = None
    doubt: str | None = None
    analysis: Analysis | None = None
    addresses: tuple[str, ...] = ()
