"""The verbs as functions. This room joins the others and computes nothing itself; `matchfit.api` re-exports it."""
