"""Examples of requests and responses by operation id, shown in the API's description."""

from __future__ import annotations

from typing import Any

FLIGHT, RUN, JOB = "Yx3kQ0m1cR8vT5wZ2aB7dg", "p4Jt9Lh2XnS6uE0fWqKb1A", "c7Vd5Gz0Mr3Ye8NoTi6PkQ"
REFUSAL = {"error": "no flight 'x'", "hint": "ids are 22 characters, list them with GET /api/flights"}
_START = 1_759_320_000_000  # 2025-10-01T12:00:00Z
_JOB = {
    "id": JOB,
    "kind": "intake",
    "flight": FLIGHT,
    "state": "working",
    "fraction": 0.4,
    "message": "aligning clocks",
}
_RUN = {"id": RUN, "flight": FLIGHT, "method": "adaptive", "strength": 1.0, "state": "ready", "created": _START,
        "seconds": 2.1}  # fmt: skip
_FLIGHT = {"id": FLIGHT, "name": "north ridge", "state": "ready", "created": _START, "suite": "black-kite",
           "start": _START, "end": _START + 1_200_000, "span_s": 1200.0,
           "files": [{"name": "ma200.csv", "bytes": 183_204}], "default_run": RUN}  # fmt: skip
_CHANNEL = {"name": "co_a", "units": "ppb", "family": "gas", "lower_bound": 0.0}
_SUITE = {"name": "my-payload", "shipped": False, "channels": [{**_CHANNEL, "t90_s": 20.0, "column": "CO ppb"}]}
_REPLAY = {"flight": FLIGHT, "name": "north-ridge-x1y2z3", "speed": 10.0, "sent": 120, "of": 1200, "state": "running",
           "direct": False}  # fmt: skip
_LIVE = {"state": "connected", "broker": "localhost:1883", "topic_in": "smoke/raw", "topic_out": "smoke/clean",
         "model": "adaptive-short", "suite": "black-kite", "exclude": [], "user": "drone", "tls": False,
         "listen_only": False, "channels": [{**_CHANNEL, "has_data": True}], "ignored": [], "mismatch": None,
         "fitting": None, "link": {"status": "good", "age_s": 0.8, "latency_s": 9.1, "gaps": 0, "quality": 1.0},
         "is_replay": True, "gateway": "own", "flight": "north-ridge-x1y2z3", "latency_s": 8.0, "calibrated": [],
         "counters": {"estimates": 120, "lost": 0, "duplicated": 0}, "replay": _REPLAY,
         "recording": {"flight": "north-ridge-x1y2z3", "samples": 128}, "message": ""}  # fmt: skip
_MARK = {"id": JOB, "flight": "north-ridge-x1y2z3", "time": _START, "note": "flames visible",
         "motion": {"latitude": 39.1, "longitude": -96.6, "altitude": 460.0}}  # fmt: skip
_ALARM = {"id": JOB, "flight": "north-ridge-x1y2z3", "channel": "co_a", "kind": "above", "source": "raw",
          "limit": 5000.0, "units": "ppb", "since": _START, "until": None, "peak": 25_089.0, "last": 9120.0,
          "last_time": _START + 4000, "seen": False, "raised": _START + 900, "calls": 2, "ends_at": 4750.0,
          "changed": _START + 4000}  # fmt: skip
_LIMITS = {"co_a": {"above": 5000.0, "rise_per_min": 3000.0}}
_MAPPING = {"time_column": "DateTime", "zone": "-05:00", "channels": [
    {"column": "CO ppb", "name": "co_a", "units": "ppb", "family": "gas", "t90_s": 20.0}]}  # fmt: skip
_ENCOUNTER = {"channel": "co_a", "number": 1, "onset": _START + 60_000, "end": _START + 84_000,
              "peak_time": _START + 70_000, "duration_s": 25.0, "peak": 2410.0, "excess": 31_800.0,
              "excess_sigma": 4900.0, "excess_random_sigma": 410.0, "excess_systematic_sigma": 4880.0, "snr": 31.4,
              "units": "ppb", "is_lower_limit": False}  # fmt: skip
_INTERVALS = [[_START + 58_000, _START + 86_000]]
_DETAIL = {
    **_FLIGHT,
    "lead": "20 min in flight from 12:00 to 12:20 UTC, 1 plume encounter.",
    "intake": {"suite": "black-kite", "ignored": [], "notes": [], "columns": [], "unmapped": [], "time_columns": [],
               "sources": [{"file": "ma200.csv", "instrument": "ma200", "rows": 1200, "rows_used": 1200,
                            "rate_hz": 1.0, "clock_offset_s": 0.0, "clock_sigma_s": 0.1, "clock_drift_ppm": 0.0,
                            "clock_by": "own stamps", "gaps": 0, "longest_gap_s": 0.0, "repairs": []}]},
    "parts": None,
    "runs": [{**_RUN, "model": "adaptive", "has_band": True, "left_raw": [],
              "channels": {"co_a": {"uncertainty": 26.4, "below": 0.0}}}],
    "rate_hz": 1.0,
    "channels": [{**_CHANNEL, "long_name": "carbon monoxide", "noise": 41.0, "lag1": 0.1, "t90_s": 20.0,
                  "blur_m": 36.0, "below": 0.12, "negative": 0.12, "observed": 0.99, "missing": 0.01, "stale": 0.0}],
    "verdicts": [{"family": "gas", "kept": True, "reason": "its plumes reach 31 times its noise",
                  "figures": {"snr": 31.4}}],
    "motion": {"speed_mean_m_s": 1.8},
    "environment": {"air_temperature": [21.4, 23.2]},
    "gaps": [],
    "has_track": True,
    "has_truth": False,
}  # fmt: skip
_TABLE = {"head": ["", "start"], "rows": [{"cells": ["1", "12:00:58"], "plume": 0}], "title": "Plume encounters"}
_VIEW = {
    "lead": _DETAIL["lead"],
    "tiles": [["20 min", "in flight"]],
    "start": _START,
    "end": _START + 1_200_000,
    "step_ms": 1000.0,
    "families": [{"name": "gas", "is_open": True}],
    "channels": [{**_CHANNEL, "long_name": "carbon monoxide", "summary": "noise σ 41, uncertainty 26 ppb",
                  "target": "ambient"}],
    "first": "co_a",
    "intervals": _INTERVALS,
    "encounters": [_ENCOUNTER],
    "flag_kinds": {"1": "no measurement"},
    "flag_words": {"missing": "no value was recorded"},
    "budget": [{"name": "co_a", "units": "ppb", "clean": {"noise": 12.0}, "plume": {"noise": 14.0}}],
    "metrics": {"snr_improvement": ["SNR gain [dB]", "high"]},
    "tables": {"plumes": [_TABLE], "scores": [], "budget": [], "uncertainty": [], "quality": []},
    "spectra": {"co_a": {"frequency": [0.1], "raw": [2467.0], "estimate": [1624.0]}},
    "wind": [1.2, -0.4],
    "profile": None,
}  # fmt: skip
_CURVE = {"raw": [131.0, 96.0], "estimate": [118.0, 117.0], "low": [92.0, 92.0], "high": [144.0, 143.0],
          "unbounded": [118.0, 117.0], "response": [119.0, 118.0], "truth": None,
          "flags": [[_START, _START + 1000, 1, "missing", 1.0]]}  # fmt: skip
_TIMES = [_START, _START + 1000]
_AMOUNT = {"value": 0.13, "sigma": 0.02, "random_sigma": 0.01, "systematic_sigma": 0.017, "units": "1"}
_PAIR = {"species": "co", "title": "CO", "x": "co_a", "y": "co_b", "units": "ppb", "n": 1071, "bias": 29.9,
         "bias_clean": 31.4, "rms": 180.0, "correlation": 0.996, "slope": 1.001, "slope_sigma": 0.031,
         "intercept": 31.3, "resolution_s": 5.0, "remark": "",
         "points": {"time": _TIMES, "x": [118.0, 117.0], "y": [150.0, 148.0], "smoke": [0, 0]}}  # fmt: skip
_SIDE = {"id": FLIGHT, "name": "north ridge", "run": RUN, "start": _START, "end": _START + 1_200_000}

# operation id → (request, response); None: none, or not JSON
EXAMPLES: dict[str, tuple[Any, Any]] = {
    "list_flights": (None, [_FLIGHT]),
    "upload_flight": (
        {"files": ["ma200.csv", "li830.log"], "zone": "-05:00", "name": "north ridge"},
        {"flight": {**_FLIGHT, "state": "queued"}, "job": _JOB},
    ),
    "describe_flight": (
        {"name": "north ridge", "notes": "gusty", "tags": ["konza"]},
        {**_FLIGHT, "notes": "gusty", "tags": ["konza"]},
    ),
    "restore_flight": (None, _FLIGHT),
    "split_flight": ({"at": [_START + 600_000]}, [_FLIGHT]),
    "read_again": ({"suite": "my-payload", "zone": "-05:00"}, {"flight": _FLIGHT, "job": _JOB}),
    "denoise_flight": ({"method": "bayesshrink", "strength": 1.0}, {"run": {**_RUN, "method": "bayesshrink"}}),
    "state_clean_air": ({"periods": [[_START, _START + 30_000]]}, {"run": _RUN, "job": {**_JOB, "kind": "clean_air"}}),
    "get_flight": (None, _DETAIL),
    "get_view": (None, _VIEW),
    "get_series": (None, {"time": _TIMES, "step_s": 1.0, "thinned": False, "channels": {"co_a": _CURVE}}),
    "get_track": (None, {"time": _TIMES, "east": [0.0, 1.2], "north": [0.0, 0.4], "altitude": [452.5, 453.0]}),
    "get_plumes": (
        None,
        {"intervals": _INTERVALS, "encounters": [_ENCOUNTER], "units": {"CO": "ppb s", "co/co2": "1"},
         "table": [{"from": _INTERVALS[0][0], "to": _INTERVALS[0][1], "duration_s": 29.0,
                    "kind": "smoke", "excess": {"CO": [31_800.0, 4900.0]}, "ratios": {"co/co2": [0.13, 0.02]}}],
         "ratios": [{**_AMOUNT, "ratio": "co/co2", "method": "integral", "resolution_s": 5.0, "share": 1.0,
                     "is_preferred": True, "reason": "depends less on the background"}],
         "emission_factors": [{**_AMOUNT, "scope": "flight", "species": "co", "units": "g kg-1", "share": 1.0,
                               "is_good": True}],
         "background": {"kind": "running", "clean_share": 0.8, "is_good": True, "smoky": [],
                        "reason": "running level of the clean air between encounters, 80 % of the record"},
         "assumed_gains": {"co_a": 0.15}, "mce_says": "mostly smouldering"},
    ),
    "get_difference": (
        None,
        {"time": _TIMES, "channels": {"co_a": {"difference": [1.2, -0.8], "sigma": [26.0, 26.0], "bias": 0.2,
                                               "rms": 1.0, "n": 2, "targets": ["ambient", "ambient"]}}},
    ),
    "get_sensors": (None, [_PAIR]),
    "get_beside": (
        None,
        {"flights": [_SIDE, {**_SIDE, "id": JOB, "name": "south ridge"}], "is_overlapping": False, "unlike": [],
         "channels": [{"name": "co_a", "long_name": "carbon monoxide", "units": "ppb"}],
         "facts": [{"kind": "ratio", "name": "co/co2", "units": "1", "values": [0.027, 0.044],
                    "sigmas": [0.005, 0.007], "difference": 0.017, "sigma": 0.009, "random_sigma": 0.001}]},
    ),
    "get_scores": (
        None,
        [{"run": RUN, "method": "adaptive", "strength": 1.0, "family": "gas", "metric": "snr_gain", "value": 9.4}],
    ),
    "health": (None, {"status": "ok", "version": "0.2.0", "queued": 0, "working": 1}),
    "get_settings": (
        None,
        {"version": "0.2.0", "upload_bytes": 200_000_000, "upload_files": 200, "broker": "localhost:1883",
         "topic_in": "smoke/raw", "topic_out": "smoke/clean", "token": True, "job_seconds": 600.0},  # nosec B105
    ),
    "list_methods": (None, [{"name": "adaptive", "title": "adaptive", "kind": "model", "note": "default"}]),
    "list_suites": (None, [_SUITE]),
    "save_suite": (_MAPPING, _SUITE),
    "download_suite": (None, 'name = "my-payload"\n\n[[family]]\nname = "gas"\n'),
    "list_jobs": (None, [_JOB]),
    "get_job": (None, _JOB),
    "cancel_job": (None, {**_JOB, "state": "cancelled"}),
    "get_live": (None, _LIVE),
    "connect_live": ({"broker": "localhost:1883", "suite": "black-kite", "user": "drone", "password": "…"}, _LIVE),  # nosec B105
    "disconnect_live": (None, {**_LIVE, "state": "off", "replay": None}),
    "get_live_track": (None, [[_START, 39.1, -96.6, 460.0]]),
    "list_marks": (None, [_MARK]),
    "add_mark": ({"note": "flames visible"}, _MARK),
    "get_limits": (None, _LIMITS),
    "set_limits": (_LIMITS, _LIMITS),
    "list_alarms": (None, [_ALARM]),
    "download_alarms": (None, "since,until,duration_s,flight,channel,kind,source,limit,peak,units,raised,seen\n"),
    "acknowledge_alarms": (None, [{**_ALARM, "seen": True}]),
    "acknowledge_alarm": (None, {**_ALARM, "seen": True}),
    "start_replay": ({"flight": FLIGHT, "speed": 10.0}, _REPLAY),
    "stop_replay": (None, {**_LIVE, "replay": None}),
}  # fmt: skip
