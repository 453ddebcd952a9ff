"""Logins of the console: a one-time code becomes a cookie that no script can read."""

from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

from fastapi import APIRouter, Request, Response

from supervisor.access.logins import LOGIN_SECONDS
from supervisor.access.rows import told_maker
from supervisor.api.access import COOKIE
from supervisor.api.caller import Caller, Calling, NotAllowed
from supervisor.api.login_bodies import CodeView, LoginBody, LoginsView, LoginView, MeView
from supervisor.api.pace import Pace
from supervisor.api.parts import Supervisor
from supervisor.api.problems import Problem
from supervisor.api.refusals import refusals
from supervisor.errors import NotFound, TrustfloorError
from supervisor.storage.access import LoginRow

router = APIRouter(tags=["access"])


class WrongCode(TrustfloorError):
    """No login's code that is good."""

    code = "wrong_code"
    status = 401
    title = "The code isn't good"


_WRONG: Final = WrongCode(
    "this code is none, was used already, or is too old",
    where="code",
    remedy="get a new one: trustfloor login",
)


@router.post("/login", response_model=MeView, responses=refusals(WrongCode))
async def log_in(
    body: LoginBody, request: Request, response: Response, supervisor: Supervisor
) -> MeView | Response:
    """Log in with a code. The cookie is a new one each time, whatever cookie came along."""
    made = await supervisor.keeper.redeem(body.code)
    if made is None:
        pace: Pace = request.app.state.pace
        problem = await pace.failed(request.scope, Problem.of(_WRONG))
        return problem.response(request.url.path)
    response.set_cookie(
        COOKIE,
        made.cookie,
        max_age=LOGIN_SECONDS,
        path="/",
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return _me(made.holder, made.page_secret)


@router.get("/me")
async def me(caller: Calling) -> MeView:
    """Who calls, and what they may do."""
    return _me(caller)


@router.post("/logout", responses=refusals(NotAllowed))
async def log_out(caller: Calling, response: Response, supervisor: Supervisor) -> LoginView:
    """End the login that asks; a token is ended by `DELETE /api/tokens/{id}`."""
    if caller.kind != "login":
        raise NotAllowed("only a login can log out", remedy="revoke a token instead")
    row = await supervisor.keeper.log_out(caller, caller.id)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return _login(row)


@router.get("/logins")
async def list_logins(supervisor: Supervisor) -> LoginsView:
    """The logins that count."""
    rows = supervisor.keeper.logins()
    return LoginsView(logins=[_login(row) for row in rows])


@router.post("/logins/codes", status_code=HTTPStatus.CREATED)
async def make_code(caller: Calling, request: Request, supervisor: Supervisor) -> CodeView:
    """A code with which a page logs in once, within minutes, as the caller."""
    code, ends = await supervisor.keeper.make_code(caller)
    address: str | None = request.app.state.address
    return CodeView(code=code, expires_at=datetime.fromtimestamp(ends, UTC), address=address)


@router.delete("/logins/{login_id}", responses=refusals(NotFound))
async def end_login(login_id: str, caller: Calling, supervisor: Supervisor) -> LoginView:
    """End a login now; its streams end too."""
    row = await supervisor.keeper.log_out(caller, login_id)
    return _login(row)


def _me(caller: Caller, page_secret: str | None = None) -> MeView:
    slugs = caller.workspaces
    return MeView(
        id=caller.id,
        name=caller.name,
        scopes=sorted(caller.scopes),
        workspaces=None if slugs is None else sorted(slugs),
        csrf_token=page_secret,
        expires_at=None
        if caller.expires_at is None
        else datetime.fromtimestamp(caller.expires_at, UTC),
    )


def _login(row: LoginRow) -> LoginView:
    view = LoginView.model_validate(row, from_attributes=True)
    return view.model_copy(update={"token_id": told_maker(row.token_id)})
