"""`python -m pc2dae` is the command `pc2dae`."""

from pc2dae.cli.entry import main

main()
