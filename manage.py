#!/usr/bin/env python
"""Django's own entry point; people use `lhdr`, which runs the same commands."""

from lhdr_site.cli import main

if __name__ == "__main__":
    main()
