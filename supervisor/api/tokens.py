"""Tokens beside the owner's: make, list, revoke."""

from http import HTTPStatus

from fastapi import APIRouter

from supervisor.access.rows import told_maker
from supervisor.api.caller import Calling, NotAllowed
from supervisor.api.login_bodies import MadeTokenView, TokenBody, TokensView, TokenView
from supervisor.api.parts import Supervisor
from supervisor.api.refusals import refusals
from supervisor.errors import InvalidRequest, NotFound
from supervisor.storage.access import TokenRow

router = APIRouter(prefix="/tokens", tags=["access"])


@router.get("")
async def list_tokens(supervisor: Supervisor) -> TokensView:
    """All tokens but the owner's, those that ended too."""
    return TokensView(tokens=[_view(row) for row in supervisor.keeper.tokens()])


@router.post(
    "",
    status_code=HTTPStatus.CREATED,
    responses=refusals(InvalidRequest, NotAllowed, NotFound),
)
async def make_token(body: TokenBody, caller: Calling, supervisor: Supervisor) -> MadeTokenView:
    """Make a token that can do no more than the caller's. Its secret is in this answer alone."""
    for slug in body.workspaces or ():
        await supervisor.workspaces.get(slug)
    row, secret = await supervisor.keeper.make_token(
        caller, body.name, body.scopes, body.workspaces, body.expires_in
    )
    return MadeTokenView(**_view(row).model_dump(), token=secret)


@router.delete("/{token_id}", responses=refusals(NotFound))
async def revoke_token(token_id: str, caller: Calling, supervisor: Supervisor) -> TokenView:
    """End a token now, with the tokens and logins that were made with it; its streams end too."""
    return _view(await supervisor.keeper.revoke(caller, token_id))


def _view(row: TokenRow) -> TokenView:
    return TokenView(
        id=row.id,
        name=row.name,
        scopes=list(row.scopes),
        workspaces=None if row.workspaces is None else list(row.workspaces),
        created_at=row.created_at,
        created_by=told_maker(row.created_by),
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
    )
