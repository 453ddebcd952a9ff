"""What is sent and got about tokens and logins."""

from datetime import datetime

from pydantic import Field

from supervisor.access.holder import LONGEST_TOKEN_SECONDS, Scope
from supervisor.api.bodies import Body, View, for_example


class LoginBody(Body):
    """A code from `trustfloor login`, as it was read out: case and hyphens don't matter."""

    model_config = for_example(code="7KQ4-M2XW-9RTD")

    code: str = Field(max_length=100)


class MeView(View):
    """Who calls. `csrfToken`, told at a login and never again, goes along as `X-CSRF-Token`."""

    id: str
    name: str
    scopes: list[Scope]
    workspaces: list[str] | None = Field(None, description="Slugs; left out or null: all")
    csrf_token: str | None = None
    expires_at: datetime | None = None


class CodeView(View):
    """A code with which a page logs in, once. `address`: where a browser on that machine does."""

    code: str
    expires_at: datetime
    address: str | None = None


class LoginView(View):
    """A login of the console; `tokenId`: whose code it was, `owner` for the owner's token."""

    id: str
    token_id: str
    scopes: list[str]
    workspaces: list[str] | None
    created_at: datetime
    used_at: datetime
    expires_at: datetime


class LoginsView(View):
    """The logins that count, the newest first."""

    logins: list[LoginView]


class TokenBody(Body):
    """What a token is to be good for. `expiresIn` are seconds; left out, it doesn't expire."""

    model_config = for_example(name="phone", scopes=["approve"], expiresIn=2592000)

    name: str = Field(min_length=1, max_length=100)
    scopes: list[Scope] = Field(min_length=1, max_length=len(Scope))
    workspaces: list[str] | None = Field(None, min_length=1, max_length=100)
    expires_in: float | None = Field(
        None, gt=0, le=LONGEST_TOKEN_SECONDS, allow_inf_nan=False, strict=True
    )


class TokenView(View):
    """A token, without its secret."""

    id: str
    name: str
    scopes: list[str]
    workspaces: list[str] | None
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    revoked_at: datetime | None


class MadeTokenView(TokenView):
    """A token that was just made. `token` is shown here and never again."""

    token: str


class TokensView(View):
    """All tokens but the owner's, the newest first."""

    tokens: list[TokenView]
