"""How good rules are: labelled recordings judged run by run, and what a change of rules changes.

All of it is pure: courses of runs and labels in, verdicts, tallies and differences out.
"""
