"""One view of a flight: facts, plumes, scores, quality, thinned series and track, computed once for page and report."""
