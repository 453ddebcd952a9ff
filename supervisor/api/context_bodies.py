"""What is sent and got about the context folders of a session."""

from pydantic import Field

from supervisor.api.bodies import Body, View, for_example


class ContextsBody(Body):
    """The folders, relative to the vault; an empty text is the vault itself."""

    model_config = for_example(folders=["Projects/garden"])

    folders: list[str] = Field(max_length=100)


class ContextsView(View):
    """The folders of a session, as they are stored."""

    folders: list[str]
