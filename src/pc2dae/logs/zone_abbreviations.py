"""Abbreviations of time zones: what to write instead, since many stand for several zones (CST: Chicago or Shanghai)."""

from __future__ import annotations

# Offset from UTC and a place; the most likely one of an ambiguous abbreviation first. From the IANA time zone database.
ABBREVIATIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "NST": (("-03:30", "America/St_Johns"),),
    "NDT": (("-02:30", "America/St_Johns"),),
    "AST": (("-04:00", "America/Halifax"), ("+03:00", "Asia/Riyadh")),
    "ADT": (("-03:00", "America/Halifax"),),
    "EST": (("-05:00", "America/New_York"),),
    "EDT": (("-04:00", "America/New_York"),),
    "CST": (("-06:00", "America/Chicago"), ("+08:00", "Asia/Shanghai")),
    "CDT": (("-05:00", "America/Chicago"),),
    "MST": (("-07:00", "America/Denver"),),
    "MDT": (("-06:00", "America/Denver"),),
    "PST": (("-08:00", "America/Los_Angeles"), ("+08:00", "Asia/Manila")),
    "PDT": (("-07:00", "America/Los_Angeles"),),
    "AKST": (("-09:00", "America/Anchorage"),),
    "AKDT": (("-08:00", "America/Anchorage"),),
    "HST": (("-10:00", "Pacific/Honolulu"),),
    "BRT": (("-03:00", "America/Sao_Paulo"),),
    "ART": (("-03:00", "America/Argentina/Buenos_Aires"),),
    "CLT": (("-04:00", "America/Santiago"),),
    "BST": (("+01:00", "Europe/London"), ("+06:00", "Asia/Dhaka")),
    "IST": (("+05:30", "Asia/Kolkata"), ("+01:00", "Europe/Dublin"), ("+02:00", "Asia/Jerusalem")),
    "CET": (("+01:00", "Europe/Berlin"),),
    "CEST": (("+02:00", "Europe/Berlin"),),
    "WEST": (("+01:00", "Europe/Lisbon"),),
    "EEST": (("+03:00", "Europe/Athens"),),
    "MSK": (("+03:00", "Europe/Moscow"),),
    "SAST": (("+02:00", "Africa/Johannesburg"),),
    "CAT": (("+02:00", "Africa/Maputo"),),
    "EAT": (("+03:00", "Africa/Nairobi"),),
    "WAT": (("+01:00", "Africa/Lagos"),),
    "WIB": (("+07:00", "Asia/Jakarta"),),
    "ICT": (("+07:00", "Asia/Bangkok"),),
    "SGT": (("+08:00", "Asia/Singapore"),),
    "HKT": (("+08:00", "Asia/Hong_Kong"),),
    "JST": (("+09:00", "Asia/Tokyo"),),
    "KST": (("+09:00", "Asia/Seoul"),),
    "AWST": (("+08:00", "Australia/Perth"),),
    "ACST": (("+09:30", "Australia/Adelaide"),),
    "ACDT": (("+10:30", "Australia/Adelaide"),),
    "AEST": (("+10:00", "Australia/Sydney"),),
    "AEDT": (("+11:00", "Australia/Sydney"),),
    "NZST": (("+12:00", "Pacific/Auckland"),),
    "NZDT": (("+13:00", "Pacific/Auckland"),),
}


def zone_hint(abbreviation: str) -> str | None:
    """What to write for an abbreviation; None if it is not one.

    >>> zone_hint("CDT")
    'write "America/Chicago", or "-05:00" if the clock stays on CDT all year'
    """
    meanings = ABBREVIATIONS.get(abbreviation.upper())
    if meanings is None:
        return None
    if len(meanings) == 1:
        offset, place = meanings[0]
        return f'write "{place}", or "{offset}" if the clock stays on {abbreviation.upper()} all year'
    either = " or ".join(f'"{place}" ({offset})' for offset, place in meanings)
    return f"{abbreviation.upper()} is ambiguous: write {either}"
