"""Who measured, for whom and under which terms: attributes of ACDD-1.3 that only the owner of the data knows."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from pc2dae.errors import SuiteError, nearest_first


class Metadata(BaseModel):
    """Table [metadata] of a suite; each key becomes a global attribute of the flight."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str | None = None
    summary: str | None = None
    keywords: str | None = None
    comment: str | None = None
    acknowledgement: str | None = None
    license: str | None = None
    naming_authority: str | None = None
    creator_name: str | None = None
    creator_email: str | None = None
    creator_url: str | None = None
    creator_type: str | None = None
    creator_institution: str | None = None
    contributor_name: str | None = None
    contributor_role: str | None = None
    publisher_name: str | None = None
    publisher_email: str | None = None
    publisher_url: str | None = None
    institution: str | None = None
    project: str | None = None
    program: str | None = None
    platform: str | None = None
    instrument: str | None = None
    source: str | None = None
    references: str | None = None

    def stated(self) -> dict[str, str]:
        """The attributes that were given."""
        return {key: value for key, value in self.model_dump().items() if value is not None}


def checked_metadata(given: Mapping[str, str]) -> dict[str, str]:
    """The attributes, if all of them are known and not empty.

    >>> checked_metadata({"project": "FASMEE"})
    {'project': 'FASMEE'}
    """
    for key, value in given.items():
        if key not in Metadata.model_fields:
            raise SuiteError(f"unknown metadata '{key}'", hint=nearest_first(key, Metadata.model_fields))
        if not value.strip():
            raise SuiteError(f"metadata '{key}' is empty", hint=f"write {key}=TEXT")
    return dict(given)
