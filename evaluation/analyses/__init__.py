"""The analyses of results: each a function from what was measured to tables and pictures.

A page, its CSV, LaTeX and pictures, the API and the static report all show the same tables, so an analysis is written
once. The statistics themselves are in `evaluation.scoring`.
"""
