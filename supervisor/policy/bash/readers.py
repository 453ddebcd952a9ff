"""Programs whose options and operands don't tell all, and who reads them."""

from collections.abc import Callable, Mapping
from typing import Final

from supervisor.policy.bash.archives import letters, tar
from supervisor.policy.bash.build_files import make, scripts
from supervisor.policy.bash.compilers import compiler
from supervisor.policy.bash.containers import ansible, bwrap, docker_run, root, scp, ssh
from supervisor.policy.bash.dialogues import (
    crontab,
    dialogue,
    editor,
    git_batch,
    later,
    quoting,
    tftp,
)
from supervisor.policy.bash.find import fd, find
from supervisor.policy.bash.git_words import git_config
from supervisor.policy.bash.interpreters import interpreter, shell
from supervisor.policy.bash.particular import (
    chmod,
    cmake,
    escalate,
    fetched,
    git_clean,
    kill,
    link,
    parted,
    patch,
    printenv,
    ps,
    sqlite,
    start_stop,
    test,
)
from supervisor.policy.bash.services import (
    api,
    cloud,
    goals,
    httpie,
    kubectl_get,
    orders,
    redis,
    requests,
    ssh_keygen,
)
from supervisor.policy.bash.use import Use
from supervisor.policy.bash.wrappers import env, fzf, listing, parallel, served, xargs

READ_BY: Final[Mapping[str, Callable[[Use], None]]] = {
    "ansible": ansible,
    "api": api,
    "bwrap": bwrap,
    "chmod": chmod,
    "cloud": cloud,
    "cmake": cmake,
    "compiler": compiler,
    "crontab": crontab,
    "dialogue": dialogue,
    "docker-run": docker_run,
    "editor": editor,
    "env": env,
    "escalate": escalate,
    "fd": fd,
    "fetched": fetched,
    "find": find,
    "fzf": fzf,
    "git-batch": git_batch,
    "git-clean": git_clean,
    "git-config": git_config,
    "goals": goals,
    "httpie": httpie,
    "interpreter": interpreter,
    "kill": kill,
    "kubectl-get": kubectl_get,
    "later": later,
    "letters": letters,
    "link": link,
    "listing": listing,
    "make": make,
    "orders": orders,
    "parallel": parallel,
    "parted": parted,
    "patch": patch,
    "printenv": printenv,
    "ps": ps,
    "quoting": quoting,
    "redis": redis,
    "requests": requests,
    "root": root,
    "scp": scp,
    "scripts": scripts,
    "served": served,
    "shell": shell,
    "sqlite": sqlite,
    "ssh": ssh,
    "ssh-keygen": ssh_keygen,
    "start-stop": start_stop,
    "tar": tar,
    "test": test,
    "tftp": tftp,
    "xargs": xargs,
}
