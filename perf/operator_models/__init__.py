"""Models of one operator each, as perf/make_operators writes them."""
