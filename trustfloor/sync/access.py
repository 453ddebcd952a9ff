"""Who may call: tokens beside the owner's, and logins of the console."""

from collections.abc import Sequence

from supervisor.access.holder import Scope
from supervisor.api.login_bodies import (
    CodeView,
    LoginBody,
    LoginsView,
    LoginView,
    MadeTokenView,
    MeView,
    TokenBody,
    TokensView,
    TokenView,
)
from trustfloor.sync.typed import Typed
from trustfloor.wire import at, body_of


class Tokens(Typed):
    """Tokens, each for some scopes and, if it is limited, for some workspaces."""

    def list(self) -> TokensView:
        """All but the owner's, the newest first; those that ended too."""
        return self._get(TokensView, "/api/tokens")

    def create(
        self,
        name: str,
        scopes: Sequence[Scope | str],
        *,
        workspaces: Sequence[str] | None = None,
        expires_in: float | None = None,
    ) -> MadeTokenView:
        """A new token; `expires_in` are seconds. Its secret is in this answer alone."""
        body = body_of(
            TokenBody, name=name, scopes=scopes, workspaces=workspaces, expires_in=expires_in
        )
        return self._ask(MadeTokenView, "POST", "/api/tokens", body)

    def revoke(self, token_id: str) -> TokenView:
        """End a token now, its streams and logins too."""
        return self._ask(TokenView, "DELETE", at("/api/tokens/{}", token_id), {})


class Logins(Typed):
    """Logins of the console."""

    def list(self) -> LoginsView:
        """Those that count, the newest first."""
        return self._get(LoginsView, "/api/logins")

    def code(self) -> CodeView:
        """A code with which a page logs in once, as the holder of this token."""
        return self._ask(CodeView, "POST", "/api/logins/codes", {})

    def log_in(self, code: str) -> MeView:
        """Log in with a code: this client has the login's cookie then."""
        return self._ask(MeView, "POST", "/api/login", body_of(LoginBody, code=code))

    def log_out(self) -> LoginView:
        """End the login that this client has."""
        return self._ask(LoginView, "POST", "/api/logout", {})

    def end(self, login_id: str) -> LoginView:
        """End a login now, its streams too."""
        return self._ask(LoginView, "DELETE", at("/api/logins/{}", login_id), {})

    def me(self) -> MeView:
        """Who this client is to the supervisor, and what it may do."""
        return self._get(MeView, "/api/me")
